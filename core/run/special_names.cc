#include <medley/run/special_names.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <medley/base/bytes.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/line_reader.h>
#include <medley/text/word_cutter.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOption = "special_tokens";
constexpr std::int64_t kMostLookedAt = std::int64_t{1} << 30;

struct FoundNames {
  std::int64_t lines = 0, first = 0;
  std::string name;
  bool is_whole = true;  // the file was looked at to its end
};

class Names {
 public:
  explicit Names(std::vector<std::string> names) : names_(std::move(names)) {
    for (std::size_t i = 0; i < names_.size(); ++i)
      tokens_.Add({.content = names_[i], .id = static_cast<std::int64_t>(i)});
  }

  // The first one in the line; "": none.
  std::string In(std::string_view line, bool is_json) const {
    std::string name = Plain(line);
    if (!name.empty() || !is_json || !IsSpelled(line)) return name;
    using nlohmann::json;
    const json value = json::parse(line, nullptr, /*allow_exceptions=*/false);
    return value.is_discarded() ? "" : Plain(value.dump(-1, ' ', false, json::error_handler_t::replace));
  }

 private:
  std::string Plain(std::string_view text) const {
    for (const AddedTokens::Piece& piece : tokens_.Cut(text)) {
      if (piece.id >= 0) return names_[static_cast<std::size_t>(piece.id)];
    }
    return "";
  }
  // Writers of JSON give letters by their numbers, and / a backslash.
  static bool IsSpelled(std::string_view line) {
    return line.find("\\u00") != std::string_view::npos || line.find("\\/") != std::string_view::npos;
  }

  std::vector<std::string> names_;
  AddedTokens tokens_;
};

FoundNames Find(const fs::path& file, const Names& names) {
  FoundNames found;
  const bool is_json = file.extension() == ".jsonl";
  LineReader lines(file);
  std::int64_t number = 0, bytes = 0;
  for (std::string line; lines.Next(line);) {
    ++number;
    bytes += std::ssize(line) + 1;
    if (number % 4096 == 0) HeedInterrupt();
    if (std::string name = names.In(line, is_json); !name.empty() && found.lines++ == 0) {
      found.first = number;
      found.name = std::move(name);
    }
    if (bytes > kMostLookedAt) {
      found.is_whole = false;
      break;
    }
  }
  return found;
}

bool IsTextFile(const fs::path& file) {
  static const std::set<std::string> kinds = {".jsonl", ".csv", ".tsv", ".txt"};
  std::error_code ignored;
  return kinds.contains(file.extension().string()) && fs::is_regular_file(file, ignored);
}

// The files of a form, in the order of its options.
std::vector<fs::path> FilesOf(const Form& form, const TaskInfo& task) {
  std::vector<fs::path> files;
  for (const auto& [name, value] : form.settings.options) {
    const OptionInfo* option = task.FindOption(name);
    if (option == nullptr || option->kind != OptionKind::kPath) continue;
    if (const fs::path file = std::get<std::string>(value); IsTextFile(file)) files.push_back(file);
  }
  return files;
}

std::string Words(const std::string& who, const fs::path& file, const FoundNames& found,
                  const std::string& fate) {
  return who + ": " + std::to_string(found.lines) + (found.lines == 1 ? " row of " : " rows of ") +
         (found.is_whole ? "" : "the first " + FormatBytes(kMostLookedAt) + " of ") + DisplayPath(file) +
         " hold" + (found.lines == 1 ? "s" : "") + " names of special tokens, first " + found.name + " at " +
         DisplayPath(file) + ":" + std::to_string(found.first) + "; " + fate;
}

}  // namespace

std::vector<std::string> SpecialNameWords(const Run& run) {
  if (!run.tokenizer) return {};
  const Names names(run.tokenizer->SpecialNames());
  const bool are_text = run.rules->NamesAreText();
  const std::string earlier = "they are these tokens, as this run began so";
  std::vector<std::string> words;
  std::set<std::string> said;
  const auto say = [&](const std::string& who, const fs::path& file, const std::string& fate) {
    const FoundNames found = Find(file, names);
    if (found.lines == 0) return;
    if (std::string line = Words(who, file, found, fate); said.insert(line).second)
      words.push_back(std::move(line));
  };
  for (const Form& form : run.NamedForms()) {
    const TaskInfo& task = run.registry->Require(form.task);
    if (task.FindOption(kOption) == nullptr) continue;
    const auto given = form.settings.options.find(kOption);
    const bool are_meant = given != form.settings.options.end() &&
                           std::holds_alternative<bool>(given->second) && std::get<bool>(given->second);
    const std::string key = "tasks." + form.task + ".options." + kOption;
    const std::string fate = are_meant  ? "they are these tokens, as " + key + " says"
                             : are_text ? "they are text, spelled as any other (" + key + "=true: tokens)"
                                        : earlier;
    for (const fs::path& file : FilesOf(form, task)) say("'" + form.task + "'", file, fate);
  }
  if (!run.control_text.empty())
    say("control_text", run.config.control_text, are_text ? "they are text, spelled as any other" : earlier);
  return words;
}

}  // namespace medley
