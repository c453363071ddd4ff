#include <medley/plugin/variant_of.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <medley/base/error.h>
#include <medley/base/json_text.h>

namespace medley {
namespace {

// Calls fn(the name of the option, the size that it says) for each.
template <typename Variant, typename Fn>
void ForEachSizeByOption(Variant& variant, const Fn& fn) {
  for (auto& pass : variant.passes) {
    if (!pass.text_width_of.empty()) fn(pass.text_width_of, pass.text_width);
  }
  for (auto& term : variant.terms) {
    if (!term.max_items_of.empty()) fn(term.max_items_of, term.max_items);
  }
}

// The same of the passes whose pictures an option counts: fn(its name, the pictures).
template <typename Variant, typename Fn>
void ForEachImagesByOption(Variant& variant, const Fn& fn) {
  for (auto& pass : variant.passes) {
    if (!pass.images_of.empty()) fn(pass.images_of, pass.images);
  }
}

bool SaysASize(const TaskInfo& task, const std::string& option) {
  bool says = false;
  for (const VariantInfo& variant : task.variants)
    ForEachImagesByOption(variant,
                          [&](const std::string& name, const auto&) { says = says || name == option; });
  for (const VariantInfo& variant : task.variants)
    ForEachSizeByOption(variant, [&](const std::string& name, int) { says = says || name == option; });
  return says;
}

int SizeSaid(const TaskInfo& task, const std::string& name, const OptionValues& given) {
  const OptionInfo* option = task.FindOption(name);  // there is one, or its spec would have been refused
  const auto found = given.find(name);
  const OptionValue value = found == given.end() ? option->Default() : found->second;
  if (const std::string problem = OptionProblem(task, *option, value); !problem.empty())
    throw InputError("task '" + task.name + "': option '" + name + "': " + problem);
  return static_cast<int>(std::get<double>(value));
}

}  // namespace

VariantInfo VariantOf(const TaskInfo& task, const TaskConfig& settings) {
  VariantInfo variant = task.RequireVariant(settings.variant);
  ForEachSizeByOption(variant, [&](const std::string& option, int& size) {
    size = SizeSaid(task, option, settings.options);
  });
  ForEachImagesByOption(variant, [&](const std::string& option, std::vector<std::string>& images) {
    const auto said = static_cast<std::size_t>(SizeSaid(task, option, settings.options));
    images.resize(std::min(images.size(), said));
  });
  return variant;
}

bool HasSizesByOption(const VariantInfo& variant) {
  bool has = false;
  ForEachSizeByOption(variant, [&](const std::string&, int) { has = true; });
  ForEachImagesByOption(variant, [&](const std::string&, const auto&) { has = true; });
  return has;
}

std::string OptionProblem(const TaskInfo& task, const OptionInfo& option, const OptionValue& value) {
  std::string problem = option.Problem(value);
  const double* number = std::get_if<double>(&value);
  constexpr double kMost = 1 << 24;
  if (!problem.empty() || number == nullptr || (*number == std::floor(*number) && *number <= kMost))
    return problem;
  if (!SaysASize(task, option.name)) return "";
  return "expected a whole number of at most 16777216, as it is a size of the task's rows, found " +
         JsonText(nlohmann::json(*number));
}

TaskInfo WithDefaultSizes(TaskInfo task) {
  for (VariantInfo& variant : task.variants) {
    TaskConfig settings;
    settings.variant = variant.name;
    variant = VariantOf(task, settings);
  }
  return task;
}

}  // namespace medley
