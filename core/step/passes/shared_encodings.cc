#include <medley/step/passes/shared_encodings.h>

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <set>

#include <medley/task/pass_images.h>

namespace medley {
namespace {

// Does the key of an encoding belong to this column's picture?
bool BelongsTo(std::string_view key, std::string_view column) { return key.ends_with(ColumnKey(column)); }

std::vector<const PassInfo*> AllPasses(const VariantInfo& variant) {
  std::vector<const PassInfo*> passes;
  for (const PassInfo& pass : variant.passes) passes.push_back(&pass);
  return passes;
}

}  // namespace

std::string SharerOf(const PassInfo& pass) { return pass.HasGradient() ? "" : "-" + pass.reference; }

Sharing SharingOf(Mode mode) {
  return TraitsOf(mode).keeps == KeepsGraphs::kOfAllPasses ? Sharing::kNode : Sharing::kLeaf;
}

SharedEncodings::SharedEncodings(const VariantInfo& variant, Sharing sharing, StepObserver* observer)
    : SharedEncodings(variant, AllPasses(variant), sharing, observer) {}

SharedEncodings::SharedEncodings(const VariantInfo& variant, const std::vector<const PassInfo*>& passes,
                                 Sharing sharing, StepObserver* observer)
    : sharing_(sharing), observer_(observer) {
  for (const PassInfo* pass : passes) {
    for (const std::string& image : std::set<std::string>(pass->images.begin(), pass->images.end()))
      ++readers_[{SharerOf(*pass), image}];
  }
  // A carry is another tensor in each run of a pass: encoded again wherever it is read.
  for (const PassInfo& pass : variant.passes) {
    pass.ForEachMade([&](const std::string& made) {
      std::erase_if(readers_, [&](const auto& reader) { return reader.first.second == made; });
    });
  }
}

at::Tensor SharedEncodings::Get(const std::string& sharer, const std::string& key,
                                const ForwardContext::Fn& fn) {
  const auto found = encodings_.find({sharer, key});
  if (found != encodings_.end())
    return found->second.leaf.defined() ? found->second.leaf : found->second.value;
  // Inside another encoding a leaf would cut that one's graph in two.
  if (sharing_ == Sharing::kLeaf && (depth_ > 0 || !HasReaders(sharer, key))) return Make(fn);

  Encoding made{.value = Make(fn), .leaf = {}};
  if (sharing_ == Sharing::kLeaf && at::GradMode::is_enabled() && made.value.requires_grad()) {
    made.leaf = made.value.detach().set_requires_grad(true);
  }
  const at::Tensor out = made.leaf.defined() ? made.leaf : made.value;
  encodings_.emplace(Place(sharer, key), std::move(made));
  return out;
}

at::Tensor SharedEncodings::Make(const ForwardContext::Fn& fn) {
  struct Depth {
    explicit Depth(int& depth) : value(++depth) {}
    ~Depth() { --value; }
    int& value;
  } depth(depth_);
  const std::uint64_t first = at::sequence_number::peek();
  at::Tensor value = fn();
  node_ranges_.emplace_back(first, at::sequence_number::peek());
  return value;
}

bool SharedEncodings::HasReaders(std::string_view sharer, std::string_view key) const {
  return std::ranges::any_of(readers_, [&](const auto& reader) {
    const auto& [of, column] = reader.first;
    return reader.second >= 2 && of == sharer && BelongsTo(key, column);
  });
}

int SharedEncodings::Readers(std::string_view column) const {
  int readers = 0;
  for (const auto& [place, count] : readers_) readers += place.second == column ? count : 0;
  return readers;
}

void SharedEncodings::PassDone(const PassInfo& pass) {
  for (const std::string& image : std::set<std::string>(pass.images.begin(), pass.images.end())) {
    const auto readers = readers_.find({SharerOf(pass), image});
    if (readers == readers_.end() || --readers->second > 0) continue;
    for (auto it = encodings_.begin(); it != encodings_.end();) {
      if (it->first.first != SharerOf(pass) || !BelongsTo(it->first.second, image)) {
        ++it;
        continue;
      }
      Encoding encoding = std::move(it->second);
      it = encodings_.erase(it);
      SendBack(std::move(encoding));
    }
  }
}

void SharedEncodings::Flush() {
  while (!encodings_.empty()) {
    Encoding encoding = std::move(encodings_.begin()->second);
    encodings_.erase(encodings_.begin());
    SendBack(std::move(encoding));
  }
}

void SharedEncodings::SendBack(Encoding encoding) {
  if (!encoding.leaf.defined() || !encoding.leaf.grad().defined()) return;
  const at::Tensor gradient = encoding.leaf.grad();
  encoding.leaf.reset();
  if (observer_ != nullptr) observer_->BackwardBegins();
  torch::autograd::backward({encoding.value}, {gradient});
  if (observer_ != nullptr) observer_->BackwardEnds();
}

}  // namespace medley
