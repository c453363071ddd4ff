#include "tools/medley/output_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include <medley/base/json_reader.h>
#include <medley/report/picture.h>
#include <medley/report/sheet.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

bool IsPage(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const bool is_of_run = has("<title>medley</title>") && has("\nconst runs = ");
  const bool is_of_groups = has("<title>medley: groups of runs</title>") && has("\nconst {groups, ");
  return text.starts_with("<!doctype html>") && (is_of_run || is_of_groups);
}

// The 8-bit RGB picture that EncodePng makes, and no other part, which people's programs nearly always add.
bool IsOwnPng(std::string_view file) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  constexpr std::size_t kFrame = 12;                              // a chunk's length, name and checksum
  constexpr std::string_view kFormat{"\x08\x02\x00\x00\x00", 5};  // behind width and height
  if (!file.starts_with(kSignature)) return false;
  std::string names;
  std::string_view rest = file.substr(kSignature.size());
  for (std::size_t size = 0; rest.size() >= kFrame; rest.remove_prefix(size + kFrame)) {
    size = 0;
    for (const char byte : rest.substr(0, 4)) size = size << 8 | static_cast<unsigned char>(byte);
    if (size > rest.size() - kFrame) return false;
    const std::string_view name = rest.substr(4, 4);
    if (names.empty() && rest.substr(16, kFormat.size()) != kFormat) return false;
    if (name != "IDAT" || !names.ends_with(name)) names += name;
  }
  return rest.empty() && names == "IHDRsRGBIDATIEND";
}

bool IsPng(const std::string& bytes, bool is_sheet) {
  return IsOwnPng(bytes) && HasSheetsFrame(DecodePng(bytes, "")) == is_sheet;
}

bool IsAnswers(std::string_view text) {
  if (!text.starts_with("row ")) return false;
  const std::size_t end = text.find('\n');
  return end != std::string_view::npos && text.substr(end + 1).starts_with("  question  ");
}

// It begins with the table of stages or of tasks, whose headings stood in one order or another.
bool IsPlanTables(std::string_view text) {
  constexpr std::array<std::string_view, 4> kHeadings = {"task ", " mode ", " micro rows ",
                                                         " predicted peak "};
  const std::string_view table = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  if (!table.starts_with("task ") && !table.starts_with("stage ")) return false;
  return std::all_of(kHeadings.begin(), kHeadings.end(),
                     [&](std::string_view heading) { return text.find(heading) != std::string_view::npos; });
}

bool Has(const ordered_json& json, std::initializer_list<const char*> keys) {
  return json.is_object() &&
         std::all_of(keys.begin(), keys.end(), [&](const char* key) { return json.contains(key); });
}

template <typename Is>
bool AllAre(const ordered_json& items, const Is& is) {
  return std::all_of(items.begin(), items.end(), is);
}

bool IsScores(const ordered_json& json) {
  if (!Has(json, {"tasks"}) || Has(json, {"starts"})) return false;
  const ordered_json& tasks = json["tasks"];
  return tasks.is_object() && !tasks.empty() && AllAre(tasks, [](const ordered_json& score) {
           return Has(score, {"metric", "better", "value"});
         });
}

bool IsLock(const ordered_json& json) {
  return Has(json, {"plugins"}) && json.size() == 1 && json["plugins"].is_array() &&
         AllAre(json["plugins"], [](const ordered_json& plugin) {
           return Has(plugin, {"name", "sha256"});
         });
}

bool IsProfile(const ordered_json& json) {
  return Has(json, {"format", "key", "floor", "tasks"}) && json["tasks"].is_object();
}

bool IsPlan(const ordered_json& json) {
  return Has(json, {"format", "budget", "floor", "tasks"}) && json["tasks"].is_array();
}

ordered_json Parsed(const std::string& bytes) {
  return ReadJson(bytes, "", {.bytes = bytes.size(), .values = std::size_t{1} << 24});
}

// Each line has one, as its last key or before its details.
bool AreReplies(std::string_view text) {
  bool any = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const ordered_json line = Parsed(std::string(text.substr(0, end)));
    if (!line.is_object() || line.empty()) return false;
    auto last = line.end();
    if ((--last).key() == "reply_details" && line.size() > 1) --last;
    if (last.key() != "reply" || !last->is_string()) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
    any = true;
  }
  return any;
}

bool Knows(OutputKind kind, const std::string& bytes) {
  switch (kind) {
    case OutputKind::kPage:
      return IsPage(bytes);
    case OutputKind::kSheet:
    case OutputKind::kPicture:
      return IsPng(bytes, kind == OutputKind::kSheet);
    case OutputKind::kReplies:
      return AreReplies(bytes);
    case OutputKind::kAnswers:
      return IsAnswers(bytes);
    case OutputKind::kScores:
      return IsScores(Parsed(bytes));
    case OutputKind::kLock:
      return IsLock(Parsed(bytes));
    case OutputKind::kProfile:
      return IsProfile(Parsed(bytes));
    case OutputKind::kPlan:
      return IsPlan(Parsed(bytes));
    case OutputKind::kPlanTables:
      return IsPlanTables(bytes);
    case OutputKind::kVocabulary:
      return false;
  }
  return false;
}

}  // namespace

std::string NameOf(OutputKind kind) {
  switch (kind) {
    case OutputKind::kPage:
      return "a page of medley report";
    case OutputKind::kSheet:
      return "a sheet of medley's";
    case OutputKind::kPicture:
      return "a picture that medley drew";
    case OutputKind::kReplies:
      return "lines with replies of medley's";
    case OutputKind::kAnswers:
      return "a sheet of answers of medley's";
    case OutputKind::kScores:
      return "scores of medley eval";
    case OutputKind::kLock:
      return "a lock of medley's";
    case OutputKind::kProfile:
      return "a profile of medley's";
    case OutputKind::kPlan:
      return "a plan of medley's";
    case OutputKind::kPlanTables:
      return "the tables of a plan of medley's";
    case OutputKind::kVocabulary:
      return "a vocabulary";
  }
  return "";
}

std::string EndingOf(OutputKind kind) {
  switch (kind) {
    case OutputKind::kPage:
      return ".html";
    case OutputKind::kSheet:
    case OutputKind::kPicture:
      return ".png";
    case OutputKind::kReplies:
      return ".jsonl";
    case OutputKind::kAnswers:
    case OutputKind::kPlanTables:
      return ".txt";
    case OutputKind::kScores:
    case OutputKind::kLock:
    case OutputKind::kProfile:
    case OutputKind::kPlan:
      return ".json";
    case OutputKind::kVocabulary:
      return ".model";
  }
  return "";
}

bool IsNamedAsAnother(OutputKind kind, const std::filesystem::path& file) {
  static const std::set<std::string, std::less<>> endings = {
      ".bmp", ".csv",   ".gif",  ".gz",  ".htm", ".html", ".jpeg", ".jpg",  ".json",        ".jsonl",
      ".md",  ".model", ".npy",  ".pdf", ".png", ".ppm",  ".pt",   ".py",   ".safetensors", ".svg",
      ".tar", ".tif",   ".tiff", ".tsv", ".txt", ".webp", ".xml",  ".yaml", ".zip"};
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending == ".htm") ending = ".html";
  return endings.contains(ending) && ending != EndingOf(kind);
}

bool IsOfKind(OutputKind kind, const std::string& bytes) try {
  return Knows(kind, bytes);
} catch (const std::exception&) {  // what cannot be read as such a file
  return false;
}

}  // namespace medley
