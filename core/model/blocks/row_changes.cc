#include <medley/model/blocks/row_changes.h>

#include <ATen/Functions.h>

#include <medley/base/error.h>
#include <medley/model/blocks/operators.h>
#include <medley/model/products.h>

namespace medley {

RowChanges::RowChanges(ParameterSet& set, const std::string& name, const at::Tensor& table) {
  const std::vector<std::int64_t>& tokens = set.adapters().tokens;
  if (tokens.empty()) return;
  if (tokens.back() >= table.size(0))
    throw InputError("lora.tokens: expected ids below " + std::to_string(table.size(0)) + ", the rows of " +
                     name + ", found " + std::to_string(tokens.back()));
  ids_ = at::tensor(tokens, at::kLong).to(table.device());
  changes_ = set.Constant(name + kRowChanges, {ids_.size(0), table.size(1)}, 0);
}

at::Tensor RowChanges::Of(const at::Tensor& ids) const {
  const at::Tensor place = at::searchsorted(ids_, ids.contiguous()).clamp_max_(count() - 1);
  const at::Tensor other = ids_.index_select(0, place.flatten()).view(ids.sizes()).ne(ids);
  const at::Tensor none = at::zeros({1, changes_.size(1)}, changes_.options().requires_grad(false));
  return Lookup(at::cat({changes_, none}), place.masked_fill(other, count()));
}

void RowChanges::AddTo(at::Tensor& products, const at::Tensor& hidden) const {
  products.index_add_(-1, ids_, LinearProduct(hidden, changes_).to(products.scalar_type()));
}

void RowChanges::To(at::Device device) {
  if (any()) ids_ = ids_.to(device);
}

}  // namespace medley
