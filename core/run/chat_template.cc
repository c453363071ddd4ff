#include <medley/run/chat_template.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include <medley/base/error.h>
#include <medley/base/files.h>

namespace medley {

namespace fs = std::filesystem;

fs::path ChatTemplateIn(const fs::path& folder) {
  if (folder.empty()) return {};
  std::error_code ignored;
  if (const fs::path file = folder / "chat_template.jinja"; fs::is_regular_file(file, ignored)) return file;
  if (const fs::path file = folder / "chat_template.json"; fs::is_regular_file(file, ignored)) return file;
  const fs::path file = folder / "tokenizer_config.json";
  if (!fs::is_regular_file(file, ignored)) return {};
  try {
    const auto config = nlohmann::json::parse(ReadFile(file), nullptr, /*allow_exceptions=*/false);
    const auto found = config.is_object() ? config.find("chat_template") : config.end();
    return config.is_object() && found != config.end() && !found->empty() ? file : fs::path();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace medley
