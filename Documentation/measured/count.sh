# SPDX-License-Identifier: GPL-2.0-only
# The test with which Documentation/how-to/ci.md begins: a table that one thread fills, and the one that its readers fill.
top=$PWD
cd "$(mktemp -d)" || exit
cc -O2 -g -pthread -I "$top/experiments/lab/region" -o first_touch -x c - <"$top/experiments/examples/first_touch.c"
PATH=$top/build:$PATH
say() {
	echo "\$ $1"
	eval "$1" 2>&1
}
count="numaplace lab run --machine 2x2 --count --region scan --fail-if 'remote_share > 10%' -- ./first_touch"
say "$count"
status=$?
echo '$ echo $?'
echo $status
say "$count fixed"
rm -r "$PWD"
