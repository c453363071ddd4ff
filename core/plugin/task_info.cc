#include <medley/plugin/task_info.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>

namespace medley {

OptionValue OptionInfo::Default() const {
  if (kind == OptionKind::kNumber) return value;
  if (kind == OptionKind::kSwitch) return value != 0;
  return kind == OptionKind::kWord ? words.front() : std::string();
}

std::string OptionInfo::Allowed() const {
  if (kind == OptionKind::kNumber)
    return JsonText(nlohmann::json(low)) + " to " + JsonText(nlohmann::json(high));
  if (kind == OptionKind::kSwitch) return "true or false";
  if (kind == OptionKind::kText) return "a text";
  return kind == OptionKind::kWord ? JoinNames(words, " or ") : "the path of a file or a directory";
}

std::string OptionInfo::Problem(const OptionValue& found) const {
  const auto* number = std::get_if<double>(&found);
  const auto* word = std::get_if<std::string>(&found);
  const bool good = kind == OptionKind::kNumber   ? number != nullptr && *number >= low && *number <= high
                    : kind == OptionKind::kSwitch ? std::holds_alternative<bool>(found)
                    : kind == OptionKind::kWord
                        ? word != nullptr && std::ranges::find(words, *word) != words.end()
                        : word != nullptr && (kind == OptionKind::kText || !word->empty());
  if (good) return "";
  return "expected " + Allowed() + (summary.empty() ? "" : " (" + summary + ")") + ", found " +
         std::visit([](const auto& held) { return JsonText(nlohmann::json(held)); }, found);
}

TaskInfo::TaskInfo(facts::Task<facts::Read> read) : facts::Task<facts::Read>(std::move(read)) {
  variants.insert(variants.begin(),
                  {.name = "default", .passes = std::move(passes), .terms = std::move(terms)});
  passes.clear(), terms.clear();
}

facts::Task<facts::Read> TaskInfo::AsDeclared() const {
  facts::Task<facts::Read> declared = *this;
  declared.passes = variants.front().passes;
  declared.terms = variants.front().terms;
  declared.variants.erase(declared.variants.begin());
  return declared;
}

const OptionInfo* TaskInfo::FindOption(std::string_view option) const {
  const auto found = std::ranges::find(options, option, &OptionInfo::name);
  return found == options.end() ? nullptr : &*found;
}

const VariantInfo* TaskInfo::FindVariant(std::string_view variant) const {
  const auto found = std::ranges::find(variants, variant, &VariantInfo::name);
  return found == variants.end() ? nullptr : &*found;
}

const VariantInfo& TaskInfo::RequireVariant(std::string_view variant) const {
  if (const VariantInfo* found = FindVariant(variant)) return *found;
  throw InputError("the task " + name + " has no variant '" + Printable(variant) +
                   "', its variants are: " + Listed(VariantNames()));
}

std::vector<std::string> TaskInfo::VariantNames() const {
  std::vector<std::string> names;
  for (const VariantInfo& variant : variants) names.push_back(variant.name);
  return names;
}

}  // namespace medley
