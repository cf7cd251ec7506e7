# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Slurm on the hosts of check-fleet: one controller, and a node on each. Sourced, not run.

SLURM_CONF=$SCRATCH/slurm.conf # slurmctld, slurmd and Slurm's commands read it
export SLURM_CONF

describe_slurm() {
	chmod 755 "$SCRATCH" # munged lets only everybody have its socket
	(umask 077 && head -c 1024 /dev/urandom >"$SCRATCH/munge.key")
	cat >"$SLURM_CONF" <<-END
		ClusterName=fleet
		SlurmctldHost=$(hostname -s)(10.77.0.1)
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$SCRATCH/munge.socket
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		StateSaveLocation=$SCRATCH/slurmctld
		SlurmdSpoolDir=$SCRATCH/%n
		SlurmctldPidFile=$SCRATCH/slurmctld.pid
		SlurmdPidFile=$SCRATCH/%n.pid
		SlurmdParameters=config_overrides
		SlurmdTimeout=20
		ReturnToService=1
		PartitionName=numa Nodes=ALL OverSubscribe=EXCLUSIVE State=UP
	END
	for number in $HOSTS; do
		echo "NodeName=box$number NodeAddr=10.77.0.1$number CPUs=$(nproc)" >>"$SLURM_CONF"
		cat >>"$SCRATCH/box.toml" <<-END
			["box $number"]
			slurm = ["--partition=numa", "--nodelist=box$number"]
			folder = "$SCRATCH/$number/kept"
			program = "$NUMAPLACE"
			lab = "demo-2s"
		END
	done
}

nodes_are_idle() {
	test "$(within 0 sinfo -h -N -o %T | sort -u)" = idle
}

# start_node NUMBER
start_node() {
	within "$1" slurmd -N "box$1" -L "$SCRATCH/$1/slurmd.log"
}

start_slurm() {
	describe_slurm
	ip -n "${NAMES}0" link set lo up
	within 0 munged --force --key-file="$SCRATCH/munge.key" --socket="$SCRATCH/munge.socket" \
		--pid-file="$SCRATCH/munge.pid" --log-file="$SCRATCH/munge.log" --seed-file="$SCRATCH/munge.seed"
	within 0 slurmctld -L "$SCRATCH/slurmctld.log"
	for number in $HOSTS; do
		start_node "$number"
	done
	eventually nodes_are_idle
}
