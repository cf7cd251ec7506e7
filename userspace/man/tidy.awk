# SPDX-License-Identifier: GPL-2.0-only
# What help2man makes: the name and the date in the head, options in a section of their own behind what NAME.h2m adds
# to the description, no paragraph directly below a heading.
/^\.TH/ { sub(/^\.TH .* "1" "[^"]*"/, ".TH " toupper(name) " \"1\" \"" date "\"") }
/^\.SH/ {
	own = name == "numaplace" ? ".SH COMMANDS" : ".SH OPTIONS"
	if (options != "")
		printf "%s\n%s", own, options
	headed = options == "" || $0 != own
	if (headed)
		print
	options = ""
	in_options = 0
	part = $0
	next
}
part == ".SH NAME" { sub(/^.* \\- /, named(name) " \\- ") }
part == ".SH DESCRIPTION" && /^\.\\" more$/ { in_options = 0; next }
part == ".SH DESCRIPTION" && /^\.SS "?Arguments/ { in_options = seen = 1; next }
part == ".SH DESCRIPTION" && !seen && /^\.(TP|HP|SS)/ { in_options = seen = 1 }
in_options { options = options $0 "\n"; next }
headed && /^\.PP$/ { next }
{ headed = 0; print }

function named(text) {
	gsub(/-/, "\\-", text)
	return text
}
