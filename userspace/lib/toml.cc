// SPDX-License-Identifier: GPL-2.0-only
// The one file in C++: toml++ has no C interface, and its JSON is what jansson reads.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#define TOML_EXCEPTIONS 0
#include <toml++/impl/preprocessor.h>
// It asserts of "[=" that a key begins with a letter, instead of saying that it does not: any file may be given to us.
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(expression) static_assert(true)
#include <toml++/toml.h>

#include "toml.h"

static json_t *fail(int error, char *err, size_t err_len, const std::string &text)
{
	errno = error;
	std::snprintf(err, err_len, "%s", text.c_str());
	return nullptr;
}

extern "C" json_t *np_toml_read(const char *path, char *err, size_t err_len)
{
	std::ifstream file(path);
	std::string text(std::istreambuf_iterator<char>(file), {});

	if (!file.is_open() || file.bad())
		return fail(errno ? errno : EIO, err, err_len,
			    std::string(path) + " cannot be read: " + std::strerror(errno ? errno : EIO));
	const auto parsed = toml::parse(text, std::string(path));
	if (!parsed)
		return fail(EINVAL, err, err_len,
			    std::string(path) + ":" + std::to_string(parsed.error().source().begin.line) +
				    ": " + std::string(parsed.error().description()));
	std::ostringstream json;
	json_error_t why;
	json << toml::json_formatter{parsed.table()};
	json_t *value = json_loads(json.str().c_str(), 0, &why);
	return value ? value
		     : fail(EINVAL, err, err_len,
			    std::string(path) + " holds what JSON cannot: " + why.text);
}
