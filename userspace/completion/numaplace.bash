# SPDX-License-Identifier: GPL-2.0-only
# bash completion for numaplace: commands and options are asked of the program itself.

_numaplace()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local tool=${COMP_WORDS[0]} command=${COMP_WORDS[1]} choices

	case $COMP_CWORD:$previous:$word in
	1:*)
		choices="--help --version $("$tool" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')"
		;;
	*:--engine:*)
		choices="auto module syscall"
		;;
	*:--policy:* | *:-p:*)
		choices=$("$tool" policies --json | sed -n 's/^ \{6\}"name": "\(.*\)",*/\1/p')
		;;
	*:::*)	# behind exec: bash has taken the word apart at its colon
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	*:--file:* | 2:files:[/.]*)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	*:--from:*)	# of migrate it is a node
		[[ $command == machine ]] && mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	2:machine:[^-]* | 2:machine: | 3:try:[^-]* | 3:try: | 2:campaign:[^-]* | 2:campaign: | 3:resume:* | 3:status:* | 3:pack:[^-]* | 3:pack: | 3:unpack:[^-]* | 3:unpack: | *:--allowed:* | *:--sign:* | *:--plan:* | *:--save:* | *:--show:* | *:--snapshot:* | *:--options:* | *:--metrics:* | *:--events:* | *:--model:*)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	*:-*)
		choices=$("$tool" "$command" --help | grep -o -- '--[a-z][a-z-]*')
		;;
	2:trace:*)
		choices="list $("$tool" trace | sed -n 's/^\([a-z]*\) .*/\1/p')"
		;;
	*)
		[[ $command =~ ^(ps|files|place|restore|migrate|plan|apply|trace)$ ]] &&
			choices=$(cd /proc && echo [0-9]*)
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}

complete -F _numaplace numaplace
