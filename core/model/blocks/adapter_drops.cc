#include <medley/model/blocks/adapter_drops.h>

#include <ATen/Functions.h>

#include <numeric>

namespace medley {

Dropout PieceDropout(double p, const std::string& site, const PrefixPiece& piece, std::int64_t begin,
                     ForwardContext& context) {
  return Dropout(p, piece.key, site + " at " + std::to_string(begin), context);
}

SeenDropout::SeenDropout(double p, const std::string& site, const std::vector<PrefixPiece>& pieces,
                         std::int64_t begin, ForwardContext& context)
    : text_(p, site, context) {
  if (!text_.drops()) return;
  for (const PrefixPiece& piece : pieces) {
    pieces_.push_back(PieceDropout(p, site, piece, begin, context));
    lengths_.push_back(piece.length);
    begin += piece.length;
  }
}

at::Tensor SeenDropout::operator()(const at::Tensor& x) const {
  if (pieces_.empty()) return text_(x);
  std::vector<std::int64_t> sizes = lengths_;
  sizes.push_back(x.size(1) - std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
  std::vector<at::Tensor> parts = x.split_with_sizes(sizes, 1);
  for (std::size_t i = 0; i < pieces_.size(); ++i) parts[i] = pieces_[i](parts[i]);
  parts.back() = text_(parts.back());
  return at::cat(parts, 1);
}

}  // namespace medley
