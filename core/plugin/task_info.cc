#include <medley/plugin/task_info.h>

#include <algorithm>

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

}  // namespace medley
