#include <medley/model/agent/agent.h>

#include <algorithm>
#include <string>
#include <utility>

#include <medley/model/agent/agent_shape.h>
#include <medley/model/blocks/dropout.h>
#include <medley/model/blocks/operators.h>

namespace medley {
namespace {

// Elements, in the parameters' type, of one row (or of all rows, where it is said) of one forward. "Norm"
// below is what an RmsNorm keeps of its own, the product before the weight and a scale; its input and output
// belong to their neighbours. What is kept was counted tensor by tensor; what is alive beside it is the
// widest place of each part, found with the counting allocator.
class Elements {
 public:
  // `shared`: positions of `prefix` whose keys and values are made beside the text. `size`: bytes of an
  // element.
  Elements(const AgentConfig& config, std::int64_t vocabulary, std::int64_t shared, std::int64_t prefix,
           std::int64_t size, const AgentShape& shape)
      : language_(config.language),
        hidden_(language_.hidden),
        queries_(language_.heads * language_.head_dim),
        keys_(language_.kv_heads * language_.head_dim),
        grid_(config.image.size / config.image.patch),
        patches_(grid_ * grid_),
        pixels_(3 * config.image.size * config.image.size),
        shared_(shared),
        prefix_(prefix - shared),
        vocabulary_(vocabulary),
        size_(size),
        shape_(shape) {}

  // The cut patches; what they are with their positions. The text's cut columns, of 8 bytes, wait.
  ForwardPart Cut() const {
    const std::int64_t out = patches_ * hidden_;
    return {.kept = pixels_ + out, .forward = out + 2 * shape_.text_width, .backward = 3 * out};
  }
  // Of all rows: positions and bias.
  std::int64_t Offsets() const { return patches_ * hidden_; }
  // `dropout`: of what goes in or comes out.
  ForwardPart PatchNorm(double dropout = 0) const {
    const bool drops = dropout > 0;
    return {.kept = patches_ * (hidden_ + 2) + (drops ? Mask(patches_ * hidden_) : 0),
            .forward = drops ? patches_ * hidden_ : 0,
            .backward = patches_ * 2 * hidden_};
  }

  // A layer's first part: input, norm, 3 projections, attention out and its log-sum, sum.
  ForwardPart SelfAttention(const AgentConfig::Stack& stack) const {
    return {.kept = patches_ * (6 * hidden_ + stack.heads + 2) + DroppedMask(stack, hidden_),
            .forward = patches_ * hidden_,
            .backward = patches_ * 5 * hidden_,
            .layer_input = patches_ * hidden_};
  }
  // Norm, queries, attention out and its log-sum, sum; keys and values of the text.
  ForwardPart CrossAttention(const AgentConfig::Stack& stack) const {
    return {.kept = patches_ * (4 * hidden_ + stack.heads + 2) + shape_.text_width * 2 * hidden_ +
                    DroppedMask(stack, hidden_),
            .forward = patches_ * hidden_,
            .backward = patches_ * 3 * hidden_ + shape_.text_width * 5 * hidden_};
  }
  // Norm, hidden, sum. ReLU works in place on a view, whose backward copies the gradient twice.
  // What is dropped inside is there twice.
  ForwardPart FeedForward(const AgentConfig::Stack& stack) const {
    const std::int64_t dropped = stack.dropout > 0 ? patches_ * stack.ffn : 0;
    return {.kept = patches_ * (2 * hidden_ + stack.ffn + 2) + dropped + DroppedMask(stack, stack.ffn) +
                    DroppedMask(stack, hidden_),
            .forward = patches_ * hidden_,
            .backward = patches_ * (4 * stack.ffn + hidden_)};
  }

  // An image between its words, `length` positions in all. Both words have a gradient of the whole table.
  ForwardPart Piece(std::int64_t length) const {
    return {.kept = length * hidden_, .backward = 2 * length * hidden_, .prefix = length * hidden_};
  }
  // What a layer makes of it: norm, its output; keys, their norm; and what is shared. Gradients of the layers
  // before wait too.
  ForwardPart SharedKeys(std::int64_t length, std::int64_t layer) const {
    const std::int64_t kept = length * (2 * hidden_ + 1 + 2 * keys_ + language_.kv_heads);
    return {.kept = kept,
            .forward = length * 2 * keys_,
            .backward = length * ((layer + 2) * 2 * keys_ + 3 * hidden_),
            .prefix = kept,
            .output = length * 2 * keys_};
  }

  // The images and labels in front of the text; the text is its first layer's input. Gradients of what is
  // shared wait meanwhile.
  ForwardPart Embedded() const {
    return {.kept = prefix_ * hidden_,
            .forward = shape_.text_width * hidden_,
            .backward = (2 * prefix_ + shape_.text_width) * hidden_ + shared_ * language_.layers * 2 * keys_,
            .prefix = prefix_ * hidden_};
  }

  // Of all rows. Prefix and text are projected as one.
  ForwardPart TextAttention() const {
    const std::int64_t rows = shape_.rows, width = shape_.text_width, seen = shared_ + prefix_ + width;
    const std::int64_t norm = hidden_ + 1;
    // Of a position: input, norm, its output; queries, their norm, turned; attention out, its log-sum.
    const std::int64_t own = 2 * hidden_ + norm + 4 * queries_ + 2 * language_.heads;
    // Joined with the prefix (a copy where there is one); keys like queries; values.
    const std::int64_t of_seen = (prefix_ > 0 ? hidden_ : 0) + KeysAndValues();
    const std::int64_t of_shared = 2 * (RepeatsKeys() ? queries_ : keys_);
    const std::int64_t prefix = rows * (prefix_ * (of_seen + norm) + shared_ * of_shared);
    return {
        .kept = prefix + rows * width * (own + of_seen),
        .forward = rows * seen * 2 * keys_,
        .backward = rows * (seen * 4 * keys_ + prefix_ * hidden_ + width * 2 * hidden_ + RepeatedGradients()),
        .prefix = prefix,
        .layer_input = rows * width * hidden_};
  }
  // Of all rows. Where it `selects`, of the supervised positions alone, which are copied. Sum, norm, its
  // output; gate, silu, up, product.
  ForwardPart TextFeedForward(bool selects) const {
    const std::int64_t fed = selects ? shape_.supervised : shape_.rows * shape_.text_width;
    return {.kept = fed * (3 * hidden_ + 1 + 4 * language_.ffn + (selects ? queries_ : 0)),
            .forward = fed * hidden_,
            .backward = fed * (2 * language_.ffn + 2 * hidden_)};
  }

  // Of all rows. Last output, norm, its output.
  ForwardPart TextOut(bool selects) const {
    const std::int64_t positions = selects ? shape_.supervised : shape_.rows * shape_.text_width;
    return {.kept = positions * (3 * hidden_ + 1), .backward = positions * 2 * hidden_};
  }
  // Of all rows. Where not only those are computed, the hidden states of the items are picked out; and
  // indices.
  ForwardPart Logits(bool selects) const {
    const std::int64_t items = shape_.supervised, picked = selects ? 0 : items * hidden_;
    return {.kept = items * (vocabulary_ + 4) + picked,
            .backward = items * hidden_ + (selects ? 0 : shape_.rows * shape_.text_width * hidden_),
            .logits = items * vocabulary_};
  }

  // The picture; the mask.
  ForwardPart Picture() const {
    // The bias, one for each pixel of a patch, and what the mask is made from.
    const std::int64_t small = pixels_ / patches_ + 3 * shape_.text_width;
    return {.kept = pixels_ + shape_.text_width,
            .forward = pixels_ + small,
            .backward = pixels_ + 2 * patches_ * hidden_};
  }

  // Of all rows: one layer's keys and values, where a text goes on after its forward.
  std::int64_t Cache() const {
    return shape_.cached > 0 ? shape_.rows * (shared_ + prefix_ + shape_.cached) * 2 * keys_ : 0;
  }

  // Of all rows: what the lookup may have beside the text's tokens. At most, so that more rows never take
  // less.
  std::int64_t LookedUpBeside() const {
    return shape_.on_gpu && shape_.with_graph ? kMostPaddedIds * hidden_ : 0;
  }

  // Of all rows: where keys of so many positions stand; the same with queries, and what sees what.
  std::int64_t KeyTurns(std::int64_t positions) const { return Turns(positions, language_.kv_heads); }
  std::int64_t Places() const {
    const std::int64_t width = shape_.text_width, seen = prefix_ + width;
    return width * (shared_ + seen) + Turns(width, language_.heads) + KeyTurns(seen);
  }
  // Of all rows, beside what is dropped, of so many numbers a patch.
  std::int64_t DropWork(double dropout, std::int64_t width) const {
    if (dropout == 0) return 0;
    return Counted(Dropout::WorkspaceBytes(shape_.rows * patches_, width, shape_.on_gpu));
  }
  std::int64_t encoding() const { return patches_ * hidden_; }
  std::int64_t pixels() const { return pixels_; }

 private:
  std::int64_t Counted(std::int64_t bytes) const { return (bytes + size_ - 1) / size_; }
  std::int64_t Mask(std::int64_t numbers) const { return Counted(numbers); }
  std::int64_t DroppedMask(const AgentConfig::Stack& stack, std::int64_t width) const {
    return stack.dropout > 0 ? Mask(patches_ * width) : 0;
  }
  std::int64_t Turns(std::int64_t positions, std::int64_t heads) const {
    return 2 * positions * language_.head_dim * (RepeatsTurns(language_.head_dim) ? heads : 1);
  }
  // On a GPU in fp32, keys and values of fewer heads are copied for the heads of the queries.
  bool RepeatsKeys() const { return shape_.on_gpu && language_.kv_heads != language_.heads; }
  std::int64_t RepeatedGradients() const {
    return RepeatsKeys() ? 2 * queries_ * (shared_ + prefix_ + shape_.text_width) : 0;
  }
  std::int64_t KeysAndValues() const {
    return RepeatsKeys() ? 2 * keys_ + 2 * queries_ + language_.kv_heads : 4 * keys_ + language_.kv_heads;
  }

  const AgentConfig::Language& language_;
  std::int64_t hidden_, queries_, keys_, grid_, patches_, pixels_, shared_, prefix_, vocabulary_, size_;
  const AgentShape& shape_;
};

// Of one row: made of all.
ForwardPart OfRows(ForwardPart part, std::int64_t rows) {
  for (std::int64_t* bytes : {&part.kept, &part.forward, &part.backward, &part.prefix, &part.logits,
                              &part.output, &part.layer_input})
    *bytes *= rows;
  return part;
}

// A part's parameters begin with its name. The published names of a text layer's norms do not.
class Names {
 public:
  explicit Names(const std::string& part) : part_(part) {
    for (const auto& [end, norm] :
         {std::pair{"self_attn.", "input_layernorm."}, std::pair{"mlp.", "post_attention_layernorm."}}) {
      if (part.ends_with(end)) norm_ = part.substr(0, part.size() - std::string(end).size()) + norm;
    }
  }
  bool operator()(const std::string& parameter) const {
    return parameter.starts_with(part_) || (!norm_.empty() && parameter.starts_with(norm_));
  }

 private:
  const std::string& part_;
  std::string norm_;
};

// Without a graph a part leaves its output and nothing else.
ForwardPart WithoutGraph(ForwardPart part, std::int64_t output) {
  part.forward += std::max<std::int64_t>(part.kept - output, 0);
  part.kept = output;
  part.prefix = std::min(part.prefix, output);
  part.backward = part.layer_input = 0;
  return part;
}

}  // namespace

std::vector<ForwardPart> Agent::Footprint(const ForwardShape& forward) const {
  const AgentShape shape = AgentShape::Of(forward);
  const Elements elements(config_, vocabulary_, PrefixLength(shape.shared_images), PrefixLength(shape.images),
                          ElementSize(), shape);
  // Where only logits are wanted, the last layer goes on with the supervised positions alone.
  const bool selects = !shape.decodes_image;
  std::vector<ForwardPart> parts;
  // `output`: elements that are left without a graph.
  const auto add = [&](ForwardPart part, const std::string& parameters, std::int64_t output, int image = -1,
                       int layer = -1) {
    if (!shape.with_graph) part = WithoutGraph(std::move(part), output);
    part.image = image;
    part.layer = layer;
    part.parameters = parameters;
    parts.push_back(std::move(part));
  };
  const std::int64_t hidden = config_.language.hidden;
  const auto add_stack = [&](const std::string& name, const AgentConfig::Stack& stack, bool cross,
                             int image) {
    const auto add_part = [&](ForwardPart part, const std::string& parameters, std::int64_t width,
                              int layer) {
      part = OfRows(std::move(part), shape.rows);
      part.forward += elements.DropWork(stack.dropout, width);
      add(std::move(part), parameters, 0, image, layer);
    };
    for (int i = 0; i < stack.layers; ++i) {
      const std::string layer = name + ".layers." + std::to_string(i) + ".";
      add_part(elements.SelfAttention(stack), layer + "self_", hidden, i);
      if (cross) add_part(elements.CrossAttention(stack), layer + "cross_", hidden, i);
      add_part(elements.FeedForward(stack), layer + "ffn", std::max(hidden, stack.ffn), i);
    }
  };
  const auto add_norm = [&](const std::string& name, double dropout, std::int64_t output, int image) {
    ForwardPart norm = OfRows(elements.PatchNorm(dropout), shape.rows);
    norm.forward += elements.DropWork(dropout, hidden);
    add(std::move(norm), name, output, image);
  };

  for (int image = 0; image < shape.images; ++image) {
    ForwardPart cut = OfRows(elements.Cut(), shape.rows);
    cut.forward += elements.Offsets();
    add(cut, "img_enc.patch.", 0, image);
    add_norm("img_enc.norm_in.", config_.encoder.dropout, 0, image);
    add_stack("img_enc", config_.encoder, false, image);
    add_norm("img_enc.norm_out.", 0, shape.rows * elements.encoding(), image);
    parts.back().output = shape.rows * elements.encoding();
  }
  const std::string root = "qwen_model.model.";
  for (int image = 0; image < shape.shared_images; ++image) {
    const std::int64_t length = PrefixLength(image + 1) - PrefixLength(image);
    add(OfRows(elements.Piece(length), shape.rows), root + "embed_tokens.", 0, image);
    parts.back().in_place = true;
    parts.back().kept += elements.KeyTurns(length);
    parts.back().prefix += elements.KeyTurns(length);
    for (int i = 0; i < config_.language.layers; ++i) {
      add(OfRows(elements.SharedKeys(length, i), shape.rows),
          root + "layers." + std::to_string(i) + ".self_attn.", 0, image);
      parts.back().in_place = true;
    }
  }
  ForwardPart embedded = OfRows(elements.Embedded(), shape.rows);
  embedded.kept += elements.Places() + elements.LookedUpBeside();
  // The words of the text and those around the images each have a gradient of the whole table. The sum of the
  // first two is a third.
  if (shape.images > 0 || shape.supervised > 0) embedded.backward += vocabulary_ * hidden;
  add(embedded, root + "embed_tokens.", embedded.kept);
  for (int i = 0; i < config_.language.layers; ++i) {
    const bool selects_here = selects && i + 1 == config_.language.layers;
    const std::string layer = root + "layers." + std::to_string(i) + ".";
    add(elements.TextAttention(), layer + "self_attn.", 0, -1, i);
    parts.back().kept += elements.Cache();
    parts.back().prefix += elements.Cache();
    add(elements.TextFeedForward(selects_here), layer + "mlp.", 0, -1, i);
  }
  // The picture is decoded from all hidden states; its own are there while it is put together.
  add(elements.TextOut(selects), root + "norm.", selects ? 0 : shape.rows * shape.text_width * hidden);
  if (shape.supervised > 0) {
    add(elements.Logits(selects), config_.language.tied ? root + "embed_tokens." : "qwen_model.lm_head.",
        shape.supervised * (vocabulary_ + 4));
  }
  if (shape.decodes_image) {
    add_stack("img_dec", config_.decoder, true, -1);
    add_norm("img_dec.norm_out.", config_.decoder.dropout, shape.rows * elements.encoding(), -1);
    add(OfRows(elements.Picture(), shape.rows), "img_dec.patch.", shape.rows * elements.pixels());
  }
  PutBytes(parts);
  return parts;
}

// Elements become bytes; and the gradients of the parameters that each part names.
void Agent::PutBytes(std::vector<ForwardPart>& parts) const {
  const std::int64_t size = ElementSize();
  for (ForwardPart& part : parts) {
    part = OfRows(std::move(part), size);
    const Names names(part.parameters);
    for (const Parameter& parameter : parameters_.list()) {
      if (!parameter.tensor.requires_grad() || !names(parameter.name)) continue;
      const auto bytes = static_cast<std::int64_t>(parameter.tensor.nbytes());
      part.gradients += bytes;
      part.largest_gradient = std::max(part.largest_gradient, bytes);
    }
  }
}

std::int64_t Agent::ElementSize() const {
  return static_cast<std::int64_t>(parameters_.list().front().tensor.element_size());
}

std::int64_t Agent::TableBytes() const { return language_.TableBytes() + encoder_.TableBytes(); }

}  // namespace medley
