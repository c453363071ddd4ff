#include <medley/model/agent/spliced_text.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace medley {
namespace {

// [rows, 1] times the length of a row.
at::Tensor RowStarts(std::int64_t rows, std::int64_t length, const at::TensorOptions& options) {
  return (at::arange(rows, options) * length).unsqueeze(1);
}

// Of rows whose pictures stand in front: where each picture's vectors begin.
std::vector<std::int64_t> StartsInFront(const PictureWords& words, std::int64_t pictures) {
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < pictures; ++i)
    starts.push_back(words.Front(i) + words.labels[static_cast<std::size_t>(i)].numel());
  return starts;
}

// What stands in front of a text, [length], with pads for the pictures.
at::Tensor IdsInFront(const PictureWords& words, std::int64_t pictures, const at::TensorOptions& options) {
  const at::Tensor vectors = at::full({words.patches}, words.pad, options);
  std::vector<at::Tensor> parts;
  for (std::int64_t i = 0; i < pictures; ++i)
    parts.insert(parts.end(), {words.labels[static_cast<std::size_t>(i)], vectors, words.closing});
  return at::cat(parts);
}

}  // namespace

std::int64_t PictureWords::Front(std::int64_t pictures) const {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < pictures; ++i)
    count += labels[static_cast<std::size_t>(i)].numel() + patches + closing.numel();
  return count;
}

at::Tensor SplicedText::Ends() const {
  return (last + RowStarts(last.size(0), length(), last.options())).flatten();
}

SplicedText Splice(const at::Tensor& tokens, const PictureWords& words, std::int64_t pictures) {
  const std::int64_t rows = tokens.size(0), width = tokens.size(1), front = words.Front(pictures),
                     length = front + width;
  const at::TensorOptions options = tokens.options();
  const at::Tensor stands = words.token > 0 ? tokens.eq(words.token) : at::zeros_like(tokens, at::kBool);
  const at::Tensor before = stands.cumsum(1) - stands.to(at::kLong);  // pictures in front of each token
  const at::Tensor among = stands.any(1, /*keepdim=*/true);
  const at::Tensor moved = at::where(among, before * (words.patches - 1), front);
  const at::Tensor place = (at::arange(width, options) + moved).clamp_max_(length - 1);

  SplicedText text;
  text.ids = at::cat({IdsInFront(words, pictures, options).expand({rows, front}),
                      at::full({rows, width}, words.pad, options)},
                     1);
  text.ids.scatter_(1, place, tokens);
  text.last = (place + stands * (words.patches - 1)).clamp_max_(length - 1);

  // Behind the last picture's column there is one for all other tokens.
  at::Tensor starts = at::zeros({rows, pictures + 1}, options);
  starts.scatter_(1, at::where(stands, before.clamp_max(pictures), pictures), place);
  const at::Tensor in_front = at::tensor(StartsInFront(words, pictures), at::kLong).to(tokens.device());
  starts = at::where(among, starts.narrow(1, 0, pictures), in_front).clamp_max_(length - words.patches);
  starts += RowStarts(rows, length, options);
  const at::Tensor vectors = at::arange(words.patches, options);
  for (std::int64_t i = 0; i < pictures; ++i)
    text.pictures.push_back((starts.narrow(1, i, 1) + vectors).flatten());
  return text;
}

}  // namespace medley
