#pragma once

#include <string>
#include <string_view>

namespace medley {

// A regular expression of Oniguruma's for PCRE2 (UTF, UCP, MULTILINE): the same where both agree, and white
// space and scripts as Oniguruma has them. Throws InputError "WHERE: ..." for what means something else to
// the two and has no such equivalent.
std::string TranslateOnig(std::string_view pattern, const std::string& where);

}  // namespace medley
