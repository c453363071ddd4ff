#include <medley/page/in_script.h>

#include <medley/base/json_text.h>

namespace medley {

std::string InScript(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char c : JsonText(json)) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

}  // namespace medley
