#include <medley/plugin/task_info.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/suggest.h>

namespace medley {

bool VariantInfo::Carries() const {
  return std::any_of(passes.begin(), passes.end(),
                     [](const PassInfo& pass) { return !pass.carries.empty(); });
}

std::int64_t VariantInfo::TokensPerRow() const {
  std::int64_t tokens = 0;
  for (const PassInfo& pass : passes) tokens += pass.text_width;
  return tokens;
}

const VariantInfo* TaskInfo::FindVariant(std::string_view variant) const {
  const auto found =
      std::find_if(variants.begin(), variants.end(), [&](const VariantInfo& v) { return v.name == variant; });
  return found == variants.end() ? nullptr : &*found;
}

const VariantInfo& TaskInfo::RequireVariant(std::string_view variant) const {
  if (const VariantInfo* found = FindVariant(variant)) return *found;
  throw InputError("the task " + name + " has no variant '" + std::string(variant) +
                   "', its variants are: " + Listed(VariantNames()));
}

std::vector<std::string> TaskInfo::VariantNames() const {
  std::vector<std::string> names;
  for (const VariantInfo& variant : variants) names.push_back(variant.name);
  return names;
}

}  // namespace medley
