#include <medley/model/blocks/backward_needs.h>
#include <medley/model/blocks/dropout.h>
#include <medley/model/blocks/footprint.h>
#include <medley/model/blocks/half_operators.h>
#include <medley/model/blocks/item_losses.h>
#include <medley/model/blocks/operators.h>

#include <algorithm>
#include <span>
#include <utility>

namespace medley {
namespace {

// Of all rows. A gate keeps three products of its own, of a half type two.
class TextNumbers {
 public:
  TextNumbers(const LanguageConfig& config, std::int64_t vocabulary, const TextShape& shape,
              const LanguageTraining& training)
      : config_(config),
        shape_(shape),
        training_(shape.with_graph ? training : AllTrained(training)),
        keeps_(training_, shape.number_bytes, shape.with_graph),
        hidden_(config.hidden),
        queries_(config.heads * config.head_dim),
        keys_(config.kv_heads * config.head_dim),
        prefix_(shape.prefix - shape.shared),
        vocabulary_(vocabulary),
        products_(IsHalf(shape.number_bytes) ? 0 : 1) {
    bool x = training_.words() || shape.mixed;
    for (const LanguageTraining::Layer& layer : training_.layers) {
      has_.emplace_back(layer, x, shape.prefix > 0);
      x = has_.back().inside || layer.down.any();
    }
  }

  // What stands in front of the text; the text is its first layer's input. Gradients of what is shared wait
  // meanwhile.
  ForwardPart Embedded() const {
    const std::int64_t rows = shape_.rows, words = rows * shape_.width * hidden_;
    ForwardPart part{.kept = rows * prefix_ * hidden_ + Places() + (is_half() ? 0 : LookedUpBeside()) +
                             If(!has_.front().x, words),
                     .forward = words,
                     .backward = rows * ((2 * prefix_ + shape_.width) * hidden_ +
                                         shape_.shared * config_.layers * 2 * keys_),
                     .prefix = rows * prefix_ * hidden_,
                     .product = 0};
    // The words of the text and those around it each have a gradient of the whole table. The sum of the first
    // two is a third, but where they were made for it: of a half type, in float, as what they look up.
    if (is_half())
      part.backward += InFloat(If(training_.words(), words) + 2 * LookedUpBeside());
    else if (training_.embedding && (shape_.embeds_more || shape_.supervised > 0))
      part.backward += vocabulary_ * hidden_;
    if (training_.tokens >
        0) {  // the words, what changes of them, and both; ids of 8 bytes, a mask, and small things
      part.kept += rows * shape_.width * InNumbers(8, shape_.number_bytes) +
                   InNumbers(rows * shape_.width + 256, shape_.number_bytes) +
                   (training_.tokens + 1) * hidden_ + InFloat(training_.tokens * hidden_);
      part.forward += 2 * words;
      part.backward += InFloat(3 * training_.tokens * hidden_);
    }
    return part;
  }

  // Prefix and text are projected as one.
  ForwardPart Attention(std::size_t index) const {
    const LanguageTraining::Layer& layer = training_.layers[index];
    const HasGradient& has = has_[index];
    const std::int64_t rows = shape_.rows, width = shape_.width, seen = shape_.prefix + width;
    // Of a position: input, norm, its output; queries, their norm, turned (without a norm only that);
    // attention out, its log-sum or weights.
    const std::int64_t weights = is_eager() ? config_.heads * seen : InFloat(config_.heads);
    const bool joins = prefix_ > 0, seen_kept = keeps_.Input(layer.k, layer.v),
               normed_kept = keeps_.Input(layer.q) || (!joins && seen_kept);
    std::int64_t own = If(has.x, hidden_) + keeps_.Norm(has.x, layer.input_norm, hidden_, 1) +
                       If(normed_kept, hidden_) +
                       keeps_.Adapter(layer.q, hidden_, has.x || layer.input_norm) +
                       If(has.attended, 2 * queries_ + weights);
    if (config_.qk_norm)
      own += If(has.q, queries_) + keeps_.Norm(has.q, layer.q_norm, queries_, config_.heads);
    // Joined with the prefix (a copy where there is one); keys like queries; values.
    const std::int64_t of_seen = If(joins && seen_kept, hidden_) + KeyNumbers(config_, layer, keeps_, has) +
                                 If(has.attended, 2 * (RepeatsKeys() ? queries_ : keys_));
    const std::int64_t of_shared = 2 * (RepeatsKeys() ? queries_ : keys_);
    const std::int64_t prefix =
        rows *
        (prefix_ * (of_seen + keeps_.Norm(true, layer.input_norm, hidden_, 1)) + shape_.shared * of_shared);
    // What is not kept is there until the layer's output is.
    const std::int64_t passing = If(!normed_kept, width * hidden_) +
                                 If(joins && !seen_kept, (prefix_ + width) * hidden_) +
                                 If(!has.attended, width * 2 * queries_ + seen * 2 * keys_);
    ForwardPart part{
        .kept = prefix + rows * width * (own + of_seen),
        .forward = rows * (seen * 2 * keys_ + passing) + Dropping(layer, rows * (prefix_ + width)),
        .backward = rows * (seen * 4 * keys_ + prefix_ * hidden_ + width * 2 * hidden_ + RepeatedGradients() +
                            (prefix_ + width) * (layer.q.rank + layer.k.rank + layer.v.rank)) +
                    (joins ? Dropping(layer, rows * (prefix_ + width)) : 0),
        .prefix = prefix,
        .layer_input = rows * width * hidden_,
        .product = 0,  // where it is made, what is made of it will be
        .attention = AttentionShape{.rows = rows,
                                    .heads = config_.heads,
                                    .kv_heads = is_eager() ? config_.heads : config_.kv_heads,
                                    .head_dim = config_.head_dim,
                                    .queries = width,
                                    .seen = seen,
                                    .fused = !is_eager()}};
    // Turned in float by libtorch's operators: the products with cosines, the halves swapped, and the sum.
    if (is_half() && !config_.qk_norm) {
      const std::int64_t turned = std::max(width * queries_, seen * keys_);
      part.forward += rows * (InFloat(2 * turned) + turned);
    }
    if (is_eager()) {  // the scores, and as many again where they are masked; a byte each says which
      const std::int64_t scores = rows * width * weights;
      part.forward += 2 * scores + InNumbers(scores, shape_.number_bytes) + rows * width * 2 * queries_;
      part.backward += 2 * scores;
    }
    if (!is_eager() && is_half() && !shape_.on_gpu && HasShortHeads(config_.head_dim))
      part.backward += InFloat(HalfAttentionFloats(width, seen, queries_, keys_));
    return part;
  }
  // Where it `selects`, of the supervised positions alone, which are copied. Sum, norm, its output; gate,
  // silu, up, product.
  ForwardPart FeedForward(std::size_t index, bool selects) const {
    const LanguageTraining::Layer& layer = training_.layers[index];
    const HasGradient& has = has_[index];
    const std::int64_t fed = Positions(selects), ffn = config_.ffn;
    const bool normed_kept = keeps_.Input(layer.gate, layer.up), product_kept = keeps_.Input(layer.down);
    const std::int64_t kept = If((selects || !has.attended) && keeps_.Input(layer.o), queries_) +
                              If(has.y, hidden_) + keeps_.Norm(has.y, layer.post_norm, hidden_, 1) +
                              If(normed_kept, hidden_) + If(has.inside, (2 + products_) * ffn) +
                              If(product_kept, ffn) +
                              keeps_.Adapters({keeps_.Adapter(layer.o, queries_, has.attended),
                                               keeps_.Adapter(layer.gate, hidden_, has.y || layer.post_norm),
                                               keeps_.Adapter(layer.up, hidden_, has.y || layer.post_norm),
                                               keeps_.Adapter(layer.down, ffn, has.inside)});
    // With a graph, attention's part keeps what it gave; but not the copy of what is selected.
    const bool attended_kept = selects ? keeps_.Input(layer.o) : shape_.with_graph && has.attended;
    const std::int64_t passing = If(!attended_kept, queries_) + If(!normed_kept, hidden_) +
                                 If(!product_kept, ffn) + If(!has.inside, (2 + products_) * ffn);
    return {
        .kept = fed * kept,
        // What comes in, where it is a copy; what the last map gives, and the sum.
        .forward = fed * (If(selects, hidden_) + 2 * hidden_ + passing),
        // What a trained map or norm keeps is gone by the widest moment; without it there is no such room.
        .backward = fed * (2 * ffn + 2 * hidden_ + If(!layer.down.any(), ffn) +
                           If(!layer.post_norm, hidden_) + If(layer.down.rank > 0, hidden_)),
        .product = fed * ffn / 2};  // of the other half there is no gated number yet
  }

  // Last output, norm, its output.
  ForwardPart Out() const {
    const std::int64_t positions = Positions(shape_.selects);
    const bool output = training_.head || training_.tokens > 0 || Picks();
    return {.kept = positions *
                    (hidden_ + keeps_.Norm(true, training_.final_norm, hidden_, 1) + If(output, hidden_)),
            .forward = positions * If(!output, hidden_),
            .backward = positions * 2 * hidden_,
            .product = 0};
  }
  // Where not only those are computed, the hidden states of the items are picked out; and indices.
  ForwardPart Logits() const {
    const std::int64_t items = shape_.supervised, picked = If(Picks(), items * hidden_);
    const bool picked_kept = training_.head || training_.tokens > 0;
    // Products of a half type, before they are in float.
    const std::int64_t half = is_half() ? items * vocabulary_ : 0,
                       changes =
                           items * training_.tokens + (is_half() ? InFloat(items * training_.tokens) : 0);
    return {.kept = InFloat(items * (vocabulary_ + 4)) + If(picked_kept, picked),
            .forward = half + If(!picked_kept, items * hidden_) + changes,
            .backward =
                half + items * hidden_ + If(training_.tokens > 0, items * hidden_) + changes + PickedFrom(),
            .logits = InFloat(items * vocabulary_),
            .product = 0};  // which becomes one in float
  }

  // Losses alone: of logits that are there at once, or piece by piece. Beside an item's loss three indices.
  ForwardPart Losses() const {
    const LossPieces pieces = Pieces();
    if (!pieces.Cuts(shape_.supervised)) return PlainLosses();
    return training_.head ? TrainedLosses(pieces) : FrozenLosses(pieces);
  }
  std::int64_t LossNumbers() const { return InFloat(shape_.supervised * 7); }
  // Of logits that are an output too: their logarithms of shares; two gradients.
  ForwardPart LossesOfLogits() const {
    const std::int64_t logits = InFloat(shape_.supervised * vocabulary_);
    return {.kept = logits + LossNumbers(), .backward = 2 * logits, .logits = logits, .product = 0};
  }

  // One layer's keys and values, where a text goes on after its forward.
  std::int64_t Cache() const {
    return shape_.cached > 0 ? shape_.rows * (shape_.prefix + shape_.cached) * 2 * keys_ : 0;
  }
  std::int64_t OutputNumbers() const { return Positions(shape_.selects) * hidden_; }

  // Where queries and keys stand, of which a GPU has a table, and what sees what, which its fused kernels
  // know.
  std::int64_t Places() const {
    const std::int64_t width = shape_.width, seen = prefix_ + width;
    const std::int64_t mask = width * (shape_.shared + seen);
    if (shape_.on_gpu) return If(is_eager(), mask);
    const std::int64_t queries = RepeatsTurns(config_.head_dim) ? config_.heads : 1;
    return mask + InFloat(2 * width * config_.head_dim * queries) +
           KeyTurns(config_, seen, shape_.number_bytes);
  }

 private:
  LossPieces Pieces() const { return {vocabulary_, config_.loss_bytes}; }
  // The logarithms of shares wait, and not the logits. Two gradients of them; then as of logits.
  ForwardPart PlainLosses() const {
    const std::int64_t logits = InFloat(shape_.supervised * vocabulary_);
    ForwardPart part = Logits();
    part.kept = part.kept - InFloat(shape_.supervised * 4) + LossNumbers();
    part.forward = std::max(part.forward, logits);
    part.backward = std::max(part.backward, 2 * logits);
    return part;
  }
  // In float a piece, which is there in a half type too; the gradient of the hidden states, and for a moment
  // what is added to it; small things of each item.
  ForwardPart PieceByPiece(const LossPieces& pieces) const {
    const std::int64_t items = shape_.supervised, states = items * hidden_,
                       piece = items * pieces.WordsOf(items), picked = If(Picks(), states);
    const bool picked_kept = training_.head || training_.tokens > 0;
    const std::int64_t work =
        InFloat(piece + states + 24 * items + 4 * items * training_.tokens) + If(is_half(), piece + states);
    return {.kept = LossNumbers() + If(picked_kept, picked),
            .forward = work + If(!picked_kept, picked),
            .backward = PickedFrom() + InFloat(24 * items),
            .product = piece};
  }
  // The gradient of the hidden states waits, and that of the changed rows' logits. Words of targets are
  // looked up.
  ForwardPart FrozenLosses(const LossPieces& pieces) const {
    const std::int64_t states = shape_.supervised * hidden_, changed = shape_.supervised * training_.tokens;
    ForwardPart part = PieceByPiece(pieces);
    part.kept += states + changed;
    part.forward += If(is_half(), InFloat(states));
    part.backward += states + InFloat(2 * changed) + If(is_half(), InFloat(states));
    return AtLeastUncut(part, pieces);
  }
  // The gradient of the table is made of some words at a time, and is in float then.
  ForwardPart TrainedLosses(const LossPieces& pieces) const {
    const std::int64_t items = shape_.supervised, states = items * hidden_;
    ForwardPart part = PieceByPiece(pieces);
    part.kept += InFloat(items);
    part.backward += part.forward + (is_half() ? InFloat(states) : states);  // weighted states
    if (is_half()) part.backward += std::max(states, pieces.WordsOf(items) * hidden_);
    return AtLeastUncut(part, pieces);
  }
  // Rows may have fewer items than the most, which need not be cut and then take more.
  ForwardPart AtLeastUncut(ForwardPart part, const LossPieces& pieces) const {
    const std::int64_t uncut = InFloat(3 * pieces.items() * vocabulary_);
    part.backward = std::max(part.backward, uncut - part.kept);
    return part;
  }
  std::int64_t Positions(bool selects) const {
    if (!selects) return shape_.rows * shape_.width;
    return shape_.ends > 0 ? shape_.ends : shape_.supervised;
  }
  // Whether the items are picked out of the last layer's states, and numbers of these.
  bool Picks() const { return !shape_.selects || shape_.ends > 0; }
  std::int64_t PickedFrom() const { return If(Picks(), Positions(shape_.selects) * hidden_); }
  // What the lookup may have beside the text's tokens, of a half type its backward. At most, so that more
  // rows never take less.
  std::int64_t LookedUpBeside() const {
    return shape_.on_gpu && shape_.with_graph && training_.words() ? kMostPaddedIds * hidden_ : 0;
  }
  bool is_eager() const { return config_.attention == AttentionKind::kEager; }
  bool is_half() const { return products_ == 0; }
  std::int64_t InFloat(std::int64_t count) const { return Floats(count, shape_.number_bytes); }
  // Eager, and on a GPU in fp32, keys and values of fewer heads are copied for the heads of the queries.
  bool RepeatsKeys() const {
    return ((shape_.on_gpu && !is_half()) || is_eager()) && config_.kv_heads != config_.heads;
  }
  std::int64_t RepeatedGradients() const {
    return RepeatsKeys() ? 2 * queries_ * (shape_.prefix + shape_.width) : 0;
  }
  // While adapters' inputs are put together from pieces.
  std::int64_t Dropping(const LanguageTraining::Layer& layer, std::int64_t positions) const {
    const bool drops = training_.dropout > 0 && layer.q.rank + layer.k.rank + layer.v.rank > 0;
    if (!drops) return 0;
    const std::int64_t workspace = Dropout::WorkspaceBytes(positions, hidden_, shape_.on_gpu);
    return positions * hidden_ + InNumbers(workspace, shape_.number_bytes);
  }

  const LanguageConfig& config_;
  const TextShape& shape_;
  LanguageTraining training_;
  Keeps keeps_;
  std::vector<HasGradient> has_;  // by layer
  std::int64_t hidden_, queries_, keys_, prefix_, vocabulary_;
  std::int64_t products_;  // that are kept of a norm, or of a gate: 0 or 1
};

}  // namespace

std::int64_t KeyTurns(const LanguageConfig& config, std::int64_t positions, std::int64_t number_bytes) {
  const std::int64_t heads = RepeatsTurns(config.head_dim) ? config.kv_heads : 1;
  return Floats(2 * positions * config.head_dim * heads, number_bytes);
}

std::vector<ForwardPart> Footprint(const LanguageConfig& config, std::int64_t vocabulary,
                                   const std::string& root, const TextShape& shape,
                                   const LanguageTraining& training) {
  const TextNumbers numbers(config, vocabulary, shape, training);
  const std::string body = root + "model.";
  std::vector<ForwardPart> parts;
  // `output`: what is left without a graph.
  const auto add = [&](ForwardPart part, const std::string& parameters, std::int64_t output, int layer = -1) {
    if (!shape.with_graph) part = WithoutGraph(std::move(part), output);
    part.layer = layer;
    part.parameters = parameters;
    parts.push_back(std::move(part));
  };
  const ForwardPart embedded = numbers.Embedded();
  // Without a graph the layers alone have them.
  const std::int64_t places = shape.with_graph ? 0 : numbers.Places();
  add(embedded, body + "embed_tokens.", embedded.kept - places);
  for (int i = 0; i < config.layers; ++i) {
    const std::string layer = body + "layers." + std::to_string(i) + ".";
    add(numbers.Attention(static_cast<std::size_t>(i)), layer + "self_attn.", 0, i);
    parts.back().kept += numbers.Cache();
    parts.back().prefix += numbers.Cache();
    add(numbers.FeedForward(static_cast<std::size_t>(i), shape.selects && i + 1 == config.layers),
        layer + "mlp.", 0, i);
    for (ForwardPart& part : std::span(parts).last(2)) part.forward += places;
  }
  add(numbers.Out(), body + "norm.", numbers.OutputNumbers());
  if (shape.supervised == 0) return parts;
  const std::string head = config.tied ? body + "embed_tokens." : root + "lm_head.";
  if (!shape.logits) {
    add(numbers.Losses(), head, numbers.LossNumbers());
    return parts;
  }
  add(numbers.Logits(), head, Floats(shape.supervised * (vocabulary + 4), shape.number_bytes));
  if (shape.losses) add(numbers.LossesOfLogits(), root + "losses", numbers.LossNumbers());
  return parts;
}

}  // namespace medley
