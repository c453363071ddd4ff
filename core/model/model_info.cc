#include <medley/model/model_info.h>

#include <algorithm>
#include <type_traits>

namespace medley {
namespace {

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

const FieldInfo* ModelInfo::FindField(std::string_view field) const {
  const auto found = std::ranges::find(fields, field, &FieldInfo::name);
  return found == fields.end() ? nullptr : &*found;
}
std::vector<std::string> ModelInfo::InputNames() const { return NamesOf(inputs); }
std::vector<std::string> ModelInfo::OutputNames() const { return NamesOf(outputs); }

ModelInfo InfoOf(const ModelSpec& spec) {
  ModelInfo info;
  Copy(spec, info);
  return info;
}

}  // namespace medley
