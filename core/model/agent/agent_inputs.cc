#include <medley/model/agent/agent_inputs.h>

#include <ATen/Functions.h>

#include <algorithm>
#include <sstream>

#include <medley/base/error.h>

namespace medley {
namespace {

[[noreturn]] void Fail(const std::string& what) { throw Error("the agent's input " + what); }

std::string Shape(const at::Tensor& x) {
  std::ostringstream out;
  out << x.sizes() << " " << x.scalar_type();
  return out.str();
}

void RequireInt64(const std::string& name, const at::Tensor& x, std::int64_t dims) {
  if (!x.defined()) Fail("'" + name + "' is missing");
  if (x.dim() != dims || x.scalar_type() != at::kLong) {
    Fail("'" + name + "' is " + Shape(x) + ", expected int64 with " + std::to_string(dims) + " dimension(s)");
  }
}

// Both ends included; nothing to check in an empty tensor.
void RequireRange(const std::string& name, const at::Tensor& x, std::int64_t low, std::int64_t high) {
  if (!x.device().is_cpu() || x.numel() == 0) return;
  const auto [smallest, largest] = at::aminmax(x);
  if (smallest.item<std::int64_t>() < low || largest.item<std::int64_t>() > high) {
    Fail("'" + name + "' has values from " + std::to_string(smallest.item<std::int64_t>()) + " to " +
         std::to_string(largest.item<std::int64_t>()) + ", expected " + std::to_string(low) + " to " +
         std::to_string(high));
  }
}

// The picture would look at pads.
void RequireWithin(const at::Tensor& context_lengths, const at::Tensor& lengths) {
  if (!lengths.device().is_cpu() || !context_lengths.device().is_cpu()) return;
  const at::Tensor beyond = context_lengths.gt(lengths);
  if (!beyond.any().item<bool>()) return;
  const std::int64_t row = beyond.to(at::kLong).argmax().item<std::int64_t>();
  throw InputError("the agent's input 'context_lengths' is " +
                   std::to_string(context_lengths[row].item<std::int64_t>()) + " in row " +
                   std::to_string(row) + ", where 'lengths' is " +
                   std::to_string(lengths[row].item<std::int64_t>()) + "; a context ends within its text");
}

void CheckImage(const ModelInput& input, const AgentConfig::Image& config) {
  const at::Tensor& x = input.tensor;
  if (x.dim() == 4 && x.size(1) == 3 && x.size(2) == config.size && x.size(3) == config.size &&
      at::isFloatingType(x.scalar_type())) {
    return;
  }
  const std::string size = std::to_string(config.size);
  Fail("'images' is " + Shape(x) + ", expected floats [rows, 3, " + size + ", " + size + "] in [0, 1]");
}

// Up to where a token for a picture stands: whether there is any decides where all pictures stand.
std::int64_t ColumnsOfPictures(const at::Tensor& tokens, std::int64_t token) {
  const at::Tensor columns = tokens.eq(token).any(0).nonzero();
  return columns.size(0) == 0 ? 0 : columns.max().item<std::int64_t>() + 1;
}

void CheckSmoothing(const at::Tensor& x, const at::Tensor& supervised) {
  if (x.sizes() != supervised.sizes() || !x.is_floating_point())
    Fail("'smoothing' is " + Shape(x) + ", expected a float for each of the " +
         std::to_string(supervised.size(0)) + " items of 'supervised'");
  if (!x.device().is_cpu() || x.numel() == 0) return;
  if (!x.ge(0).logical_and(x.le(1)).all().item<bool>())
    Fail("'smoothing' has values outside of 0 to 1, of which a share is spread over all words");
}

std::int64_t Largest(const at::Tensor& x) { return x.numel() > 0 ? x.max().item<std::int64_t>() : 0; }

void ReadWanted(AgentInputs& in, const WantedOutputs& wanted) {
  for (const std::string_view name : wanted) {
    if (name == "logits") {
      in.wants_logits = true;
    } else if (name == "losses") {
      in.wants_losses = true;
    } else if (name == "image") {
      in.wants_image = true;
    } else if (name == "drawing") {
      in.wants_drawing = true;
    } else if (name != "targets") {
      throw Error("the agent has no output '" + std::string(name) +
                  "'; it has logits, losses, targets, image and drawing");
    }
  }
  if (in.draws() && in.images.empty()) {
    throw Error(
        "the agent cannot decode a picture without an image; hand in 'images' or ask for neither 'image' nor "
        "'drawing'");
  }
}

// Where the targets are read from: position - 1, in rows of `width` of which `kept` columns are left.
at::Tensor Sources(const at::Tensor& supervised, std::int64_t width, std::int64_t kept) {
  if (kept == width) return supervised - 1;
  return at::floor_divide(supervised, width) * kept + at::remainder(supervised, width) - 1;
}

}  // namespace

void AgentInputs::RequirePictures(const at::Tensor& tokens, const at::Tensor& lengths, std::int64_t token,
                                  std::int64_t pictures) {
  const at::Tensor column = at::arange(tokens.size(1), tokens.options());
  const at::Tensor counts = tokens.eq(token).logical_and(column.unsqueeze(0).lt(lengths.unsqueeze(1))).sum(1);
  const at::Tensor wrong = counts.ne(0).logical_and(counts.ne(pictures));
  if (!wrong.any().item<bool>()) return;
  const std::int64_t row = wrong.to(at::kLong).argmax().item<std::int64_t>();
  throw InputError("the agent's input 'tokens' has " + std::to_string(counts[row].item<std::int64_t>()) +
                   " tokens for pictures (tower.image_token, " + std::to_string(token) + ") in row " +
                   std::to_string(row) + ", and pictures are shown: " + std::to_string(pictures) +
                   "; a text has one for each, or none, and then they stand in front of it");
}

AgentInputs AgentInputs::Read(const ModelInputs& inputs, const WantedOutputs& wanted,
                              const AgentConfig& config, std::int64_t vocabulary) {
  AgentInputs in;
  at::Tensor supervised;
  for (const ModelInput& input : inputs) {
    if (input.name == "images") {
      CheckImage(input, config.image);
      in.images.push_back(&input);
      continue;
    }
    at::Tensor* slot = input.name == "tokens"            ? &in.tokens
                       : input.name == "lengths"         ? &in.lengths
                       : input.name == "supervised"      ? &supervised
                       : input.name == "smoothing"       ? &in.smoothing
                       : input.name == "context_lengths" ? &in.context_lengths
                       : input.name == "drawn_alone"     ? &in.drawn_alone
                                                         : nullptr;
    if (slot == nullptr) {
      Fail("'" + input.name +
           "' is unknown; known are images, tokens, lengths, supervised, smoothing, context_lengths and "
           "drawn_alone");
    }
    if (slot->defined()) Fail("'" + input.name + "' is given twice");
    *slot = input.tensor;
  }
  if (in.images.size() > kMaxImages) {
    Fail("'images' is given " + std::to_string(in.images.size()) + " times, the most is " +
         std::to_string(kMaxImages));
  }
  ReadWanted(in, wanted);

  RequireInt64("tokens", in.tokens, 2);
  RequireInt64("lengths", in.lengths, 1);
  const std::int64_t rows = in.rows(), width = in.width();
  if (rows == 0 || width == 0)
    Fail("'tokens' is " + Shape(in.tokens) + ", expected at least one row and one column");
  if (!in.context_lengths.defined()) in.context_lengths = in.lengths;
  RequireInt64("context_lengths", in.context_lengths, 1);
  const auto require_rows = [&](const std::string& name, const at::Tensor& x) {
    if (x.size(0) == rows) return;
    Fail("'" + name + "' has " + std::to_string(x.size(0)) + " rows, 'tokens' has " + std::to_string(rows));
  };
  require_rows("lengths", in.lengths);
  require_rows("context_lengths", in.context_lengths);
  for (const ModelInput* image : in.images) require_rows("images", image->tensor);
  if (in.drawn_alone.defined()) {
    if (in.drawn_alone.scalar_type() != at::kBool || in.drawn_alone.dim() != 1)
      Fail("'drawn_alone' is " + Shape(in.drawn_alone) + ", expected bool [rows]");
    require_rows("drawn_alone", in.drawn_alone);
  }
  RequireRange("tokens", in.tokens, 0, vocabulary - 1);
  RequireRange("lengths", in.lengths, 1, width);
  RequireRange("context_lengths", in.context_lengths, 1, width);
  RequireWithin(in.context_lengths, in.lengths);

  const bool on_host = in.tokens.device().is_cpu();
  std::int64_t kept = in.draws() && on_host ? Largest(in.context_lengths) : on_host ? 1 : width;
  if (config.tower.image_token > 0 && on_host && in.lengths.is_cpu()) {
    RequirePictures(in.tokens, in.lengths, config.tower.image_token, std::ssize(in.images));
    kept = std::max(kept, ColumnsOfPictures(in.tokens, config.tower.image_token));
  }
  if (in.scores()) {
    RequireInt64("supervised", supervised, 1);
    RequireRange("supervised", supervised, 1, rows * width - 1);
    in.targets = in.tokens.flatten().index_select(0, supervised);
    if (on_host) {
      const at::Tensor position = at::remainder(supervised, width);
      RequireRange("supervised (position in the row)", position, 1, width - 1);
      kept = std::max(kept, Largest(position));
    }
    in.selected = Sources(supervised, width, kept);
    if (in.smoothing.defined()) CheckSmoothing(in.smoothing, supervised);
  }
  in.tokens = in.tokens.narrow(1, 0, kept);
  return in;
}

}  // namespace medley
