#include <medley/model/model_info.h>

#include <algorithm>
#include <type_traits>

namespace medley {
namespace {

template <typename Items>
auto Found(const Items& items, std::string_view name) {
  const auto found = std::ranges::find_if(items, [&](const auto& i) { return i.name == name; });
  return found == items.end() ? nullptr : &*found;
}

std::vector<std::string> NamesOf(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return names;
}

template <typename Spec, typename Info>
void Copy(const Spec& spec, Info& info) {
  const auto visit = [](const facts::Fact&, const auto& value, auto& copy) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (facts::HasFields<Value>) {
      Copy(value, copy);
    } else if constexpr (requires { value.fits(); }) {
      for (const auto& item : value) {
        auto& place = copy.emplace_back();
        if constexpr (facts::HasFields<std::remove_cvref_t<decltype(item)>>) {
          Copy(item, place);
        } else {
          place = item;
        }
      }
    } else {
      copy = value;
    }
  };
  Info::Fields(visit, spec, info);
}

}  // namespace

const FieldInfo* ModelInfo::FindField(std::string_view field) const { return Found(fields, field); }
const SizeInfo* ModelInfo::FindSize(std::string_view size) const { return Found(sizes, size); }
std::vector<std::string> ModelInfo::InputNames() const { return NamesOf(inputs); }
std::vector<std::string> ModelInfo::OutputNames() const { return NamesOf(outputs); }

ModelInfo InfoOf(const ModelSpec& spec) {
  ModelInfo info;
  Copy(spec, info);
  return info;
}

}  // namespace medley
