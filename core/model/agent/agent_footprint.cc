#include <string>
#include <utility>

#include <medley/model/agent/agent.h>
#include <medley/model/agent/agent_shape.h>
#include <medley/model/blocks/dropout.h>
#include <medley/model/blocks/footprint.h>
#include <medley/model/blocks/tower_footprint.h>

namespace medley {
namespace {

// Numbers of one row (or of all rows, where it is said) of one forward, of what the agent has beside its
// blocks.
class Elements {
 public:
  // `goes_wide`: products are made of copies in float (model/products.h).
  Elements(const AgentConfig& config, std::int64_t number_bytes, bool goes_wide, const AgentShape& shape)
      : language_(config.language),
        hidden_(language_.hidden),
        keys_(language_.kv_heads * language_.head_dim),
        grid_(config.image.size / config.image.patch),
        patches_(grid_ * grid_),
        pixels_(3 * config.image.size * config.image.size),
        stem_(config.stem),
        cells_(config.stem.channels > 0 ? pixels_ / 3 / (stem_.cell * stem_.cell) * stem_.channels : 0),
        number_bytes_(number_bytes),
        goes_wide_(goes_wide),
        shape_(shape) {}

  // The cut patches; what they are with their positions. The text's cut columns, of 8 bytes, wait.
  ForwardPart Cut() const {
    const std::int64_t out = patches_ * hidden_, in_float = is_half() ? InFloat(pixels_) : 0;
    return {.kept = pixels_ + out,
            .forward = std::max(out, in_float - out) + InNumbers(8 * shape_.text_width, number_bytes_),
            .backward = 3 * out,
            .product = goes_wide_ ? out : out / 2};
  }
  // With a stem: the cut cells, what they are mapped to, and its GELU; the gradients of both.
  ForwardPart Stem() const {
    const std::int64_t in_float = is_half() ? InFloat(pixels_) : 0;
    const std::int64_t cut_in_float = std::max<std::int64_t>(0, in_float - 2 * cells_);
    // A product's result in float, of two half numbers each, stands where the float cells stood and GELU
    // will. Where the cells are there in float once more, so is the half result.
    return {.kept = pixels_ + 2 * cells_,
            .forward = cut_in_float + InNumbers(8 * shape_.text_width, number_bytes_),
            .backward = 2 * cells_,
            .product = goes_wide_ ? std::max<std::int64_t>(pixels_ + (cells_ - cut_in_float) / 2, 0)
                                  : std::max<std::int64_t>(0, cells_ - cut_in_float) / 2};
  }
  // Behind it: patches with their positions. The widest product of the backward is the gradient of the cells.
  ForwardPart CutOfCells() const {
    const std::int64_t out = patches_ * hidden_;
    return {
        .kept = out,
        .forward = out + (shape_.with_graph ? 0 : cells_) + InNumbers(8 * shape_.text_width, number_bytes_),
        .backward = 3 * out + cells_,
        .product = shape_.with_graph ? cells_ : out / 2 + (goes_wide_ ? cells_ : 0)};
  }
  bool has_stem() const { return cells_ > 0; }
  // Of all rows: positions and bias.
  std::int64_t Offsets() const { return patches_ * hidden_; }
  // Of all rows: the weight of a patch's cells, turned.
  std::int64_t TurnedWeight() const { return cells_ / patches_ * hidden_; }
  // `dropout`: of what goes in or comes out.
  ForwardPart PatchNorm(double dropout = 0) const {
    const bool drops = dropout > 0;
    return {.kept = patches_ * hidden_ + InFloat(2 * patches_) +
                    (drops ? InNumbers(patches_ * hidden_, number_bytes_) : 0),
            .forward = drops ? patches_ * hidden_ : 0,
            .backward = patches_ * 2 * hidden_,
            .product = 0};
  }

  // Of all rows: a norm's weights in float beside a half type.
  std::int64_t NormWeights() const { return is_half() ? InFloat(2 * hidden_) : 0; }

  // An image between its words, `length` positions in all. Both words have a gradient of the whole table.
  ForwardPart Piece(std::int64_t length) const {
    return {
        .kept = length * hidden_, .backward = 2 * length * hidden_, .prefix = length * hidden_, .product = 0};
  }
  // What a layer makes of it: norm, its output; keys, their norm; and what is shared. Gradients of the layers
  // before wait too.
  ForwardPart SharedKeys(std::int64_t length, std::int64_t layer, const LanguageTraining& training) const {
    const std::int64_t kept =
        length * SharedKeyNumbers(language_, training, static_cast<std::size_t>(layer), number_bytes_);
    return {.kept = kept,
            .forward = length * 2 * keys_,
            .backward = length * ((layer + 2) * 2 * keys_ + 3 * hidden_),
            .prefix = kept,
            .output = length * 2 * keys_,
            .product = 0};
  }

  // The picture; the mask.
  ForwardPart Picture() const {
    const std::int64_t made = InFloat(pixels_);
    return {.kept = made + shape_.text_width,
            .forward = made + Small(),
            .backward = made + 2 * patches_ * hidden_,
            .product = 0};
  }

  // How much of what was seen is covered, beside the lines that both products read.
  ForwardPart Opacity() const {
    const std::int64_t plane = InFloat(pixels_ / 3);
    return {.kept = plane + (is_half() ? 0 : encoding()),
            .forward = plane,
            .backward = 2 * plane + 2 * encoding(),
            .product = 0};
  }
  // What was seen, and the picture over it.
  ForwardPart Composite() const {
    const std::int64_t made = InFloat(pixels_);
    return {.kept = 2 * made, .backward = 3 * made + made / 3, .product = 0};
  }

  // The bias, one for each pixel of a patch, and what the mask is made from.
  std::int64_t Small() const {
    return InFloat(pixels_ / patches_) + InNumbers(12 * shape_.text_width, number_bytes_);
  }

  // Of all rows, beside what is dropped.
  std::int64_t DropWork(double dropout) const {
    if (dropout == 0) return 0;
    return InNumbers(Dropout::WorkspaceBytes(shape_.rows * patches_, hidden_, shape_.on_gpu), number_bytes_);
  }
  // Where `length` positions of words and pictures stand, and which of them are what; as the pictures'
  // vectors take the words' places, gradients of both.
  ForwardPart Places(std::int64_t length, std::int64_t images, bool has_gradient) const {
    return {.kept = PlaceNumbers(length, images),
            .forward = 4 * InNumbers(8 * length, number_bytes_),
            .backward = has_gradient ? (length + 2 * patches_) * hidden_ : 0,
            .product = 0};
  }
  std::int64_t PlaceNumbers(std::int64_t length, std::int64_t images) const {
    return InNumbers(8 * (length + images * patches_ + shape_.text_width), number_bytes_);
  }
  std::int64_t encoding() const { return patches_ * hidden_; }
  std::int64_t patches() const { return patches_; }
  std::int64_t picture() const { return InFloat(pixels_); }
  std::int64_t TurnsOfKeys(std::int64_t positions) const {
    return shape_.on_gpu ? 0 : KeyTurns(language_, positions, number_bytes_);
  }

 private:
  bool is_half() const { return IsHalf(number_bytes_); }
  std::int64_t InFloat(std::int64_t count) const { return Floats(count, number_bytes_); }

  const AgentConfig::Language& language_;
  std::int64_t hidden_, keys_, grid_, patches_, pixels_;
  AgentConfig::Stem stem_;
  std::int64_t cells_;  // numbers that a stem makes of a picture
  std::int64_t number_bytes_;
  bool goes_wide_;
  const AgentShape& shape_;
};

// Whether what comes out of a projector has a gradient.
bool Changes(const TowerTraining& training) {
  return !training.rests() || training.projector_in.any() || training.projector_out.any();
}

// Of one row: made of all.
ForwardPart OfRows(ForwardPart part, std::int64_t rows) {
  for (std::int64_t* numbers : {&part.kept, &part.forward, &part.backward, &part.prefix, &part.logits,
                                &part.output, &part.layer_input, &part.product})
    *numbers *= rows;
  return part;
}

}  // namespace

std::vector<ForwardPart> Agent::Footprint(const ForwardShape& forward) const {
  const AgentShape shape = AgentShape::Of(forward);
  const at::Tensor& first = parameters_.list().front().tensor;
  const auto number_bytes = static_cast<std::int64_t>(first.element_size());
  const bool goes_wide = first.scalar_type() == at::kHalf && !forward.on_gpu;
  const Elements elements(config_, number_bytes, goes_wide, shape);
  const LanguageTraining training = language_.training();
  std::vector<ForwardPart> parts;
  // `output`: numbers that are left without a graph.
  const auto add = [&](ForwardPart part, const std::string& parameters, std::int64_t output, int image = -1) {
    if (!shape.with_graph) part = WithoutGraph(std::move(part), output);
    part.image = image;
    part.parameters = parameters;
    parts.push_back(std::move(part));
  };
  const auto add_stack = [&](const std::string& name, const AgentConfig::Stack& stack, bool cross,
                             int image) {
    const LayerShape layer{.rows = shape.rows,
                           .positions = elements.patches(),
                           .context = cross ? shape.text_width : 0,
                           .masked = cross,
                           .number_bytes = number_bytes,
                           .with_graph = shape.with_graph,
                           .on_gpu = shape.on_gpu};
    for (int i = 0; i < stack.layers; ++i) {
      for (ForwardPart& part : medley::Footprint(LayerSetting(config_, stack, cross),
                                                 name + ".layers." + std::to_string(i), i, layer)) {
        part.image = image;
        parts.push_back(std::move(part));
      }
    }
  };
  const auto add_norm = [&](const std::string& name, double dropout, std::int64_t output, int image) {
    ForwardPart norm = OfRows(elements.PatchNorm(dropout), shape.rows);
    norm.kept += elements.NormWeights();
    norm.forward += elements.DropWork(dropout);
    add(std::move(norm), name, output, image);
  };

  TowerTraining tower_training;
  if (tower_) tower_->AddTo(tower_training), projector_->AddTo(tower_training);
  const bool splices = tower_ && shape.images > 0;
  for (int image = 0; tower_ && image < shape.images; ++image) {
    for (ForwardPart& part : medley::Footprint(config_.tower, std::string(spec().tower.root),
                                               std::string(spec().tower.projector), config_.language.hidden,
                                               {.rows = shape.rows,
                                               .number_bytes = number_bytes,
                                               .goes_wide = goes_wide,
                                               .with_graph = shape.with_graph,
                                               .on_gpu = shape.on_gpu,
                                               .carried = shape.carried.contains(image)},
                                               tower_training)) {
      part.image = image;
      parts.push_back(std::move(part));
    }
  }
  for (int image = 0; !tower_ && image < shape.images; ++image) {
    if (elements.has_stem()) add(OfRows(elements.Stem(), shape.rows), "img_enc.stem.", 0, image);
    ForwardPart cut = OfRows(elements.has_stem() ? elements.CutOfCells() : elements.Cut(), shape.rows);
    cut.kept += elements.TurnedWeight();  // its gradient is turned back where it lies
    cut.forward += elements.Offsets();
    add(cut, "img_enc.patch.", 0, image);
    add_norm("img_enc.norm_in.", config_.encoder.dropout, 0, image);
    add_stack("img_enc", config_.encoder, false, image);
    add_norm("img_enc.norm_out.", 0, shape.rows * elements.encoding(), image);
    parts.back().output = shape.rows * elements.encoding();
  }
  for (int image = 0; !tower_ && image < shape.shared_images; ++image) {
    const std::int64_t length = PrefixLength(image + 1) - PrefixLength(image);
    add(OfRows(elements.Piece(length), shape.rows), "model.embed_tokens.", 0, image);
    parts.back().in_place = true;
    parts.back().kept += elements.TurnsOfKeys(length);
    parts.back().prefix += elements.TurnsOfKeys(length);
    for (int i = 0; i < config_.language.layers; ++i) {
      add(OfRows(elements.SharedKeys(length, i, training), shape.rows),
          "model.layers." + std::to_string(i) + ".self_attn.", 0, image);
      parts.back().in_place = true;
    }
  }
  // Where only logits are wanted, the last layer goes on with the supervised positions alone. A picture is
  // decoded from all hidden states; its own are there while it is put together.
  const std::int64_t before = PrefixLength(shape.images);
  const bool encodings_change = shape.with_graph && (Changes(tower_training) || !shape.carried.empty());
  if (splices) {
    add(OfRows(elements.Places(before + shape.text_width, shape.images, encodings_change), shape.rows),
        "splice", shape.rows * elements.PlaceNumbers(before + shape.text_width, shape.images));
  }
  for (ForwardPart& part :
       medley::Footprint(config_.language, vocabulary_, /*root=*/"",
                         {.rows = shape.rows,
                         .width = shape.text_width + (splices ? before : 0),
                         .number_bytes = number_bytes,
                         .mixed = splices && encodings_change,
                         .prefix = splices ? 0 : before,
                         .shared = splices ? 0 : PrefixLength(shape.shared_images),
                         .supervised = shape.supervised,
                         .logits = shape.logits,
                         .losses = shape.losses,
                         .selects = splices || !shape.draws(),
                         .ends = splices && shape.draws() ? shape.rows * shape.text_width : 0,
                         // Pictures that stand among the words are kept with them.
                          .cached = shape.cached > 0 && splices ? shape.cached + before : shape.cached,
                         .embeds_more = shape.images > 0 && !splices,
                         .with_graph = shape.with_graph,
                         .on_gpu = shape.on_gpu},
                         training))
    parts.push_back(std::move(part));
  if (shape.draws()) {
    const bool composites = config_.alpha && shape.decodes_image;
    add_stack("img_dec", config_.decoder, true, -1);
    add_norm("img_dec.norm_out.", config_.decoder.dropout, shape.rows * elements.encoding(), -1);
    if (!IsHalf(number_bytes))  // before it is scaled
      parts.back().forward += shape.rows * (elements.encoding() + elements.Small());
    if (composites)
      add(OfRows(elements.Opacity(), shape.rows), "img_dec.alpha.", shape.rows * elements.picture() / 3);
    add(OfRows(elements.Picture(), shape.rows), "img_dec.patch.", shape.rows * elements.picture());
    if (composites)
      add(OfRows(elements.Composite(), shape.rows), "img_dec.composite", shape.rows * elements.picture());
  }
  InBytes(parts, parameters_.list());
  return parts;
}

std::int64_t Agent::TableBytes() const {
  return language_.TableBytes() + (encoder_ ? encoder_->TableBytes() : 0) +
         (tower_ ? tower_->TableBytes() : 0);
}

}  // namespace medley
