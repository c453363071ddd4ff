#include <medley/step/moments_conversion.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <utility>

#include <medley/base/error.h>
#include <medley/config/field.h>
#include <medley/kernels/adamw_loop.h>
#include <medley/step/compact_moments.h>

namespace medley {
namespace {

using SavedTensors = std::map<std::string, at::Tensor>;

MomentsKind KindOf(const at::Tensor& saved) {
  if (saved.scalar_type() == at::kByte) return MomentsKind::k8Bit;
  return saved.scalar_type() == at::kBFloat16 ? MomentsKind::kBf16 : MomentsKind::kFloat;
}

std::string Sizes(at::IntArrayRef sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text.empty() ? "[]" : text + "]";
}

// One moment of a tensor, by the names that it has in the file.
struct SavedMoment {
  std::string codes, scales;
  kernels::Map map;
};

void DecodeSaved(const SavedMoment& moment, SavedTensors& saved) {
  at::Tensor& codes = saved.at(moment.codes);
  const auto scales = saved.find(moment.scales);
  if (scales == saved.end())
    throw InputError(moment.codes + " is in eight bits, and there is no " + moment.scales);
  const std::int64_t blocks = kernels::BlocksOf(codes.numel());
  if (scales->second.scalar_type() != at::kFloat || scales->second.sizes() != at::IntArrayRef{blocks})
    throw InputError(moment.scales + " is " + at::toString(scales->second.scalar_type()) + " " +
                     Sizes(scales->second.sizes()) + ", and the " + std::to_string(codes.numel()) +
                     " codes of " + moment.codes + " need Float [" + std::to_string(blocks) +
                     "]: a scale for each block of 256. The file is damaged; resume from another checkpoint");
  const at::Tensor values = at::empty(codes.sizes(), at::kFloat);
  kernels::Decode(moment.map, codes.contiguous().const_data_ptr<std::uint8_t>(),
                  scales->second.contiguous().const_data_ptr<float>(), codes.numel(),
                  values.mutable_data_ptr<float>());
  codes = values;
  saved.erase(scales);
}

void EncodeSaved(const SavedMoment& moment, SavedTensors& saved) {
  at::Tensor& values = saved.at(moment.codes);
  const at::Tensor exact = values.to(at::kFloat).contiguous(), codes = at::empty(exact.sizes(), at::kByte),
                   scales = at::empty({kernels::BlocksOf(exact.numel())}, at::kFloat);
  kernels::Encode(moment.map, exact.const_data_ptr<float>(), exact.numel(),
                  codes.mutable_data_ptr<std::uint8_t>(), scales.mutable_data_ptr<float>());
  values = codes;
  saved[moment.scales] = scales;
}

// What it was kept in. A tensor that is missing, or of another shape or type, is for who loads it to name.
MomentsKind ConvertSaved(const SavedMoment& moment, const KeptMoments& kept, SavedTensors& saved) {
  const auto found = saved.find(moment.codes);
  if (found == saved.end() || found->second.sizes() != kept.shape) return kept.kind;
  const MomentsKind was = KindOf(found->second);
  if (was == kept.kind) return was;
  if (was == MomentsKind::k8Bit) DecodeSaved(moment, saved);
  if (kept.kind == MomentsKind::k8Bit && found->second.is_floating_point()) EncodeSaved(moment, saved);
  return was;
}

}  // namespace

std::vector<std::string> ConvertMoments(const std::vector<KeptMoments>& kept, SavedTensors& saved) {
  std::map<std::pair<MomentsKind, MomentsKind>, int> converted;
  for (const KeptMoments& moments : kept) {
    const bool has_name = saved.count(moments.parameter + kMeans) > 0 || moments.former_name.empty();
    const std::string& name = has_name ? moments.parameter : moments.former_name;
    const MomentsKind was =
        ConvertSaved({name + kMeans, name + kMeanScales, kernels::Map::kSigned}, moments, saved);
    ConvertSaved({name + kSquares, name + kSquareScales, kernels::Map::kUnsigned}, moments, saved);
    if (was != moments.kind) ++converted[{was, moments.kind}];
  }
  std::vector<std::string> words;
  const auto& names = EnumNames<MomentsKind>::kNames;
  for (const auto& [kinds, count] : converted)
    words.push_back("optimizer.moments: those of " + std::to_string(count) + " tensors were " +
                    std::string(names[static_cast<std::size_t>(kinds.first)]) + ", and are converted into " +
                    std::string(names[static_cast<std::size_t>(kinds.second)]));
  return words;
}

}  // namespace medley
