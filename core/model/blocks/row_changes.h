#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include <medley/model/parameter_set.h>

namespace medley {

// Rows of a frozen table that are trained: what is added to them is a parameter, which begins with 0. The
// table is never copied.
class RowChanges {
 public:
  // Changes no rows.
  RowChanges() = default;
  // Changes the rows of the tokens of the set's adapters, `table` [words, hidden] being called `name`.
  // InputError for a token that it has no row for.
  RowChanges(ParameterSet& set, const std::string& name, const at::Tensor& table);

  bool any() const { return ids_.defined(); }
  std::int64_t count() const { return any() ? ids_.size(0) : 0; }
  // The changes of the rows that are looked up, 0 for other ids: [...] -> [..., hidden].
  at::Tensor Of(const at::Tensor& ids) const;
  // Adds to the products of `hidden` [..., hidden] with all rows [..., words] those with the changes.
  void AddTo(at::Tensor& products, const at::Tensor& hidden) const;
  void To(at::Device device);

  const at::Tensor& ids() const { return ids_; }          // [count] int64, ascending; undefined: none
  const at::Tensor& changes() const { return changes_; }  // [count, hidden]

 private:
  at::Tensor ids_, changes_;
};

}  // namespace medley
