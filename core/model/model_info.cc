#include <medley/model/model_info.h>

#include <algorithm>

namespace medley {
namespace {

template <typename Items>
auto Found(const Items& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& i) { return i.name == name; });
  return found == items.end() ? nullptr : &*found;
}

std::vector<std::string> NamesOf(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return names;
}

std::vector<std::string> Texts(const NameList& names) { return {names.begin(), names.end()}; }

std::vector<TensorInfo> InfosOf(const SpecList<TensorSpec, 12>& tensors) {
  std::vector<TensorInfo> infos;
  for (const TensorSpec& tensor : tensors) {
    infos.push_back({std::string(tensor.name), std::string(tensor.dtype), Texts(tensor.dimensions),
                     std::string(tensor.times), std::string(tensor.help)});
  }
  return infos;
}

}  // namespace

const FieldInfo* ModelInfo::FindField(std::string_view field) const { return Found(fields, field); }
const SizeInfo* ModelInfo::FindSize(std::string_view size) const { return Found(sizes, size); }
std::vector<std::string> ModelInfo::InputNames() const { return NamesOf(inputs); }
std::vector<std::string> ModelInfo::OutputNames() const { return NamesOf(outputs); }

ModelInfo InfoOf(const ModelSpec& spec) {
  ModelInfo info;
  info.name = spec.name, info.version = spec.version, info.summary = spec.summary;
  for (const ModelGroup& group : spec.groups)
    info.groups.push_back({std::string(group.name), std::string(group.help)});
  for (const ModelField& field : spec.fields) {
    info.fields.push_back({std::string(field.name), field.kind, field.value, field.low, field.high,
                           field.above_low, Texts(field.words), std::string(field.help)});
  }
  for (const ModelRule& rule : spec.rules) {
    info.rules.push_back({std::string(rule.field), std::string(rule.divides), std::string(rule.multiple_of),
                          rule.multiple, std::string(rule.why)});
  }
  for (const ModelSize& size : spec.sizes) {
    info.sizes.push_back(
        {std::string(size.name), std::string(size.help), size.ragged, std::string(size.lengths)});
  }
  info.inputs = InfosOf(spec.inputs), info.outputs = InfosOf(spec.outputs);
  info.tokenizer = spec.tokenizer, info.control_text = spec.control_text;
  info.picture_size = spec.pictures.size, info.picture_patch = spec.pictures.patch;
  info.pretrained_group = spec.pretrained.group, info.pretrained_root = spec.pretrained.root;
  return info;
}

}  // namespace medley
