#include <medley/model/blocks/item_losses.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>
#include <optional>

#include <medley/model/blocks/fused.h>
#include <medley/model/float_type.h>
#include <medley/model/products.h>

namespace medley {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor Column(const at::Tensor& of_items) { return of_items.unsqueeze(1); }

// Where the targets of items, or changed rows, stand among the words from `first` on.
struct Places {
  at::Tensor index, is_here;  // `index`: any word of these where it is not

  Places(const at::Tensor& words, std::int64_t first, std::int64_t count) {
    const at::Tensor place = words - first;
    is_here = place.ge(0).logical_and_(place.lt(count));
    index = place.clamp(0, count - 1);
  }
};

// Goes over a head's logits by some words of all items at a time, in a buffer that is made once.
class PieceByPiece {
 public:
  PieceByPiece(const LossHead& head, const LossTargets& targets, const at::Tensor& hidden)
      : head_(head),
        targets_(Ordered(targets)),
        hidden_(hidden),
        is_half_(IsHalf(head.table.scalar_type())),
        is_fused_(IsFused(FusedKernel::kLosses, hidden) && !head.ids.defined()),
        at_once_(LossPieces(head.table.size(0), head.bytes).WordsOf(hidden.size(0))),
        type_(AtLeastFloat(head.table.scalar_type())),
        wide_(head.table.options().dtype(type_).requires_grad(false)) {
    const std::int64_t numbers = hidden.size(0) * at_once_;
    if (is_half_) half_ = at::empty({numbers}, hidden.options().requires_grad(false));
    if (!is_half_ || !is_fused_) buffer_ = at::empty({numbers}, wide_);
    if (head.ids.defined()) changed_ = MatrixProduct(hidden, head.changes.t()).to(type_);
  }

  struct Made {
    at::Tensor losses{}, log_sums{};  // [items]
    at::Tensor hidden{};              // the gradient of the losses' sum at the hidden states
    at::Tensor changed{};             // and at what the changes add to the logits, [items, count]
  };
  Made Forward(bool makes_gradient) const;

  struct Gradients {
    at::Tensor hidden{}, table{};
  };
  // `gradient` [items] of the losses.
  Gradients Backward(const at::Tensor& log_sums, const at::Tensor& gradient, bool of_hidden) const;

 private:
  // Of every item the shares without their common divisor, exp(logit - highest), as far as words were seen:
  // all of these grow smaller where a higher logit comes.
  struct Seen {
    at::Tensor highest{}, others{};  // [items]; `others`: the sum of all but the target's
    at::Tensor target{}, all{};      // the target's logit; the sum of logits, where there is smoothing
    at::Tensor hidden{}, changed{};  // all but the target's, times the table; those of changed rows
  };
  void See(std::int64_t first, Seen& seen) const;
  Made MadeOf(Seen& seen) const;

  std::int64_t items() const { return hidden_.size(0); }
  std::int64_t words() const { return head_.table.size(0); }
  bool has_changes() const { return changed_.defined(); }
  bool smooths() const { return targets_.smoothing.defined(); }
  at::Tensor PieceOfTable(std::int64_t first) const {
    return head_.table.narrow(0, first, std::min(at_once_, words() - first));
  }
  at::Tensor Piece(const at::Tensor& buffer, std::int64_t words) const {
    return buffer.narrow(0, 0, items() * words).view({items(), words});
  }
  // In the type of the products.
  at::Tensor Products(const at::Tensor& table) const {
    at::Tensor products = Piece(is_half_ ? half_ : buffer_, table.size(0));
    MatrixProductTo(products, hidden_, table.t());
    return products;
  }
  // [items, words of the piece]. Products of a half type are rounded to it, as the plain operators have them.
  at::Tensor Logits(const at::Tensor& table, std::int64_t first) const {
    const at::Tensor products = Products(table);
    const at::Tensor logits = is_half_ ? Piece(buffer_, table.size(0)).copy_(products) : products;
    if (has_changes()) {
      const Places rows(head_.ids, first, table.size(0));
      logits.index_add_(1, rows.index, changed_ * rows.is_here);
    }
    return logits;
  }
  at::Tensor InHalf(const at::Tensor& piece) const {
    return is_half_ ? Piece(half_, piece.size(1)).copy_(piece) : piece;
  }
  // sum + a * b, where a and b may be of a half type.
  void AddProduct(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) const {
    is_half_ ? sum.add_(MatrixProduct(a, b)) : sum.addmm_(a, b);
  }

  const LossHead& head_;
  static LossTargets Ordered(const LossTargets& targets) {  // as kernels read them
    return {.words = targets.words.contiguous(),
            .smoothing = targets.smoothing.defined() ? targets.smoothing.contiguous() : at::Tensor()};
  }

  const LossTargets targets_;
  const at::Tensor& hidden_;
  bool is_half_, is_fused_;
  std::int64_t at_once_;  // words
  at::ScalarType type_;   // float at least
  at::TensorOptions wide_;
  at::Tensor buffer_, half_, changed_;  // `changed_`: what changes add to the logits of their words
};

PieceByPiece::Made PieceByPiece::Forward(bool makes_gradient) const {
  const auto none = [&] { return at::zeros({items()}, wide_); };
  Seen seen{
      .highest = none().fill_(-std::numeric_limits<double>::infinity()), .others = none(), .target = none()};
  if (smooths()) seen.all = none();
  if (makes_gradient) {
    seen.hidden = at::zeros(hidden_.sizes(), wide_);
    if (has_changes()) seen.changed = at::zeros_like(changed_);
  }
  for (std::int64_t first = 0; first < words(); first += at_once_) See(first, seen);
  return MadeOf(seen);
}

void PieceByPiece::See(std::int64_t first, Seen& seen) const {
  const at::Tensor table = PieceOfTable(first);
  if (is_fused_) {
    const at::Tensor piece = Products(table),
                     smaller = seen.hidden.defined() ? at::empty_like(seen.others) : at::Tensor();
    SeePiece(piece, first, words(), targets_, {seen.highest, seen.others, seen.target, seen.all}, smaller);
    if (seen.hidden.defined()) AddProduct(seen.hidden.mul_(Column(smaller)), piece, table);
    return;
  }
  const at::Tensor piece = Logits(table, first);
  const Places target(Column(targets_.words), first, table.size(0));
  seen.target.add_(piece.gather(1, target.index).mul_(target.is_here).squeeze(1));
  if (smooths()) seen.all.add_(piece.sum(1));

  const at::Tensor highest = at::maximum(seen.highest, piece.amax(1));
  const at::Tensor smaller = at::exp(seen.highest - highest);
  seen.highest = highest;
  piece.sub_(Column(highest)).exp_();
  piece.scatter_(1, target.index, piece.gather(1, target.index).masked_fill_(target.is_here, 0));
  seen.others.mul_(smaller).add_(piece.sum(1));
  if (!seen.hidden.defined()) return;
  AddProduct(seen.hidden.mul_(Column(smaller)), InHalf(piece), table);
  if (!has_changes()) return;
  const Places rows(head_.ids, first, table.size(0));
  seen.changed.mul_(Column(smaller)).add_(piece.index_select(1, rows.index).mul_(rows.is_here));
}

// The gradient of an item's loss at its logits is its shares less what they are to be. At the target that is
// the sum of the other shares, taken away: as a difference from 1 it would be lost in a half type.
PieceByPiece::Made PieceByPiece::MadeOf(Seen& seen) const {
  const at::Tensor sum = seen.others + at::exp(seen.target - seen.highest);
  Made made{.losses = {}, .log_sums = seen.highest + at::log(sum)};
  made.losses = made.log_sums - seen.target;
  at::Tensor even, at_target = seen.others.div(sum).neg_();
  if (smooths()) {
    even = targets_.smoothing / static_cast<double>(words());
    made.losses = made.log_sums - seen.target * (1 - targets_.smoothing) - seen.all * even;
    at_target.add_(targets_.smoothing);
  }
  if (!seen.hidden.defined()) return made;
  made.hidden = seen.hidden.div_(Column(sum));
  made.hidden.addcmul_(head_.table.index_select(0, targets_.words).to(type_), Column(at_target));
  if (smooths()) made.hidden.addcmul_(head_.table.sum(0, false, type_), Column(even), -1);
  if (has_changes()) {
    const at::Tensor is_target = Column(targets_.words).eq(head_.ids);
    at::Tensor changed = seen.changed.div_(Column(sum)).add_(is_target * Column(at_target));
    if (smooths()) changed.sub_(Column(even));
    made.changed = changed.to(hidden_.scalar_type());
    AddProduct(made.hidden, made.changed, head_.changes);
  }
  made.hidden = made.hidden.to(hidden_.scalar_type());
  return made;
}

PieceByPiece::Gradients PieceByPiece::Backward(const at::Tensor& log_sums, const at::Tensor& gradient,
                                               bool of_hidden) const {
  // Of 150,000 words a share is less than fp16 tells apart well.
  const double gain = hidden_.scalar_type() == at::kHalf ? 64 : 1;
  // An item's weight goes to its states, which are far fewer numbers than its logits.
  const at::Tensor weighted = (hidden_ * Column(gradient)).to(hidden_.scalar_type());
  Gradients made{.hidden = of_hidden ? at::zeros(hidden_.sizes(), wide_) : at::Tensor(),
                 .table = at::empty(head_.table.sizes(), wide_)};
  at::Tensor right = at::ones({items(), 1}, wide_);
  if (smooths()) right = 1 - Column(targets_.smoothing);
  const auto of_logits = [&](const at::Tensor& table, std::int64_t first) {
    if (is_fused_) {
      const at::Tensor piece = Products(table);
      const at::Tensor each = gain == 1 ? at::Tensor() : at::full_like(log_sums, gain);
      TurnToGradient(piece, first, words(), targets_, log_sums, each);
      return piece;
    }
    const at::Tensor piece = Logits(table, first);
    piece.sub_(Column(log_sums)).exp_();
    if (smooths()) piece.sub_(Column(targets_.smoothing / static_cast<double>(words())));
    const Places target(Column(targets_.words), first, table.size(0));
    piece.scatter_(1, target.index, piece.gather(1, target.index) - right * target.is_here);
    return InHalf(gain == 1 ? piece : piece.mul_(gain));
  };
  for (std::int64_t first = 0; first < words(); first += at_once_) {
    const at::Tensor table = PieceOfTable(first), products = of_logits(table, first);
    at::Tensor of_table = made.table.narrow(0, first, table.size(0));
    if (is_half_) {
      of_table.copy_(MatrixProduct(products.t(), weighted));
      if (gain != 1) of_table.div_(gain);
    } else {
      at::mm_out(of_table, products.t(), weighted);
    }
    if (!of_hidden) continue;
    AddProduct(made.hidden, products, table);
    if (!has_changes()) continue;
    const Places rows(head_.ids, first, table.size(0));
    AddProduct(made.hidden, products.index_select(1, rows.index).mul_(rows.is_here), head_.changes);
  }
  if (of_hidden && gain != 1) made.hidden.div_(gain);
  if (of_hidden) made.hidden = made.hidden.mul_(Column(gradient)).to(hidden_.scalar_type());
  return made;
}

// What is saved of a forward, in this order.
struct Saved {
  at::Tensor hidden{}, words{}, smoothing{};         // `hidden` where a gradient of weights is made of it
  at::Tensor gradient{}, changed{};                  // of a frozen table
  at::Tensor table{}, ids{}, changes{}, log_sums{};  // of a trained one

  variable_list List() const {
    return {hidden, words, smoothing, gradient, changed, table, ids, changes, log_sums};
  }
  static Saved Of(const variable_list& list) {
    return {.hidden = list[0],
            .words = list[1],
            .smoothing = list[2],
            .gradient = list[3],
            .changed = list[4],
            .table = list[5],
            .ids = list[6],
            .changes = list[7],
            .log_sums = list[8]};
  }
};

class CutLosses : public torch::autograd::Function<CutLosses> {
 public:
  // Table and changes are the head's: handed in once more, for they may have a gradient.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& table,
                            const std::optional<at::Tensor>& changes, const LossTargets& targets,
                            const LossHead& head) {
    const bool is_trained = table.requires_grad();
    const PieceByPiece::Made made =
        PieceByPiece(head, targets, hidden).Forward(/*makes_gradient=*/!is_trained);
    Saved saved{.gradient = made.hidden, .changed = made.changed};
    if (is_trained || changes.has_value()) saved.hidden = hidden;
    if (is_trained) {
      saved.words = targets.words, saved.smoothing = targets.smoothing, saved.log_sums = made.log_sums;
      saved.table = table, saved.ids = head.ids, saved.changes = head.changes;
    }
    context->save_for_backward(saved.List());
    context->saved_data["bytes"] = head.bytes;
    return made.losses;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Saved saved = Saved::Of(context->get_saved_variables());
    const at::Tensor& gradient = gradients[0];
    if (saved.table.defined())
      return Trained(saved, gradient, context->saved_data["bytes"].toInt(), context->needs_input_grad(0));
    const at::Tensor each = Column(gradient);
    at::Tensor of_changes;
    if (saved.changed.defined())
      of_changes = MatrixProduct((saved.changed * each).to(saved.hidden.scalar_type()).t(), saved.hidden);
    return {(saved.gradient * each).to(saved.gradient.scalar_type()), {}, of_changes, {}, {}};
  }

 private:
  static variable_list Trained(const Saved& saved, const at::Tensor& gradient, std::int64_t bytes,
                               bool of_hidden) {
    const LossHead head{.table = saved.table, .ids = saved.ids, .changes = saved.changes, .bytes = bytes};
    const LossTargets targets{.words = saved.words, .smoothing = saved.smoothing};
    const PieceByPiece::Gradients made =
        PieceByPiece(head, targets, saved.hidden).Backward(saved.log_sums, gradient, of_hidden);
    const at::Tensor of_changes = saved.ids.defined() ? made.table.index_select(0, saved.ids) : at::Tensor();
    return {made.hidden, made.table, of_changes, {}, {}};
  }
};

// Losses from logarithms of shares.
at::Tensor Mixed(const at::Tensor& of_target, const at::Tensor& logarithms, const at::Tensor& smoothing) {
  if (!smoothing.defined()) return of_target;
  const at::Tensor even = logarithms.sum(1).neg().mul(smoothing / static_cast<double>(logarithms.size(1)));
  return of_target * (1 - smoothing) + even;
}

}  // namespace

at::Tensor LossesOfLogits(const at::Tensor& logits, const LossTargets& targets) {
  const at::Tensor logarithms = at::log_softmax(logits, -1);
  constexpr std::int64_t kNoTargetIsIgnored = -100;
  const at::Tensor of_target =
      at::nll_loss_nd(logarithms, targets.words, {}, at::Reduction::None, kNoTargetIsIgnored);
  return Mixed(of_target, logarithms, targets.smoothing);
}

at::Tensor PiecewiseLosses(const at::Tensor& hidden, const LossTargets& targets, const LossHead& head) {
  const bool has_graph =
      at::GradMode::is_enabled() && (hidden.requires_grad() || head.table.requires_grad() ||
                                     (head.changes.defined() && head.changes.requires_grad()));
  if (!has_graph) {
    const at::NoGradGuard no_graph;
    return PieceByPiece(head, targets, hidden).Forward(/*makes_gradient=*/false).losses;
  }
  const std::optional<at::Tensor> changes =
      head.changes.defined() ? std::optional(head.changes) : std::nullopt;
  return CutLosses::apply(hidden, head.table, changes, targets, head);
}

}  // namespace medley
