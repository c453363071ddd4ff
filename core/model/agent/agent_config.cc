#include <medley/model/agent/agent_config.h>

#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>

namespace medley {
namespace {

constexpr double kMostWidth = 1 << 20;
constexpr double kMostLayers = 1024;

}  // namespace

template <typename Visitor>
void Fields(Visitor& visit, AgentConfig::Language& c) {
  visit(c.hidden, {.name = "hidden",
                   .help = "Width of the residual stream, also of the image parts",
                   .low = 1,
                   .high = kMostWidth});
  visit(c.layers, {.name = "layers", .help = "Decoder layers", .low = 1, .high = kMostLayers});
  visit(c.heads, {.name = "heads", .help = "Query heads", .low = 1, .high = kMostLayers});
  visit(c.kv_heads,
        {.name = "kv_heads", .help = "Key and value heads; divides heads", .low = 1, .high = kMostLayers});
  visit(
      c.head_dim,
      {.name = "head_dim", .help = "Width of one head; even, for rotary positions", .low = 2, .high = 4096});
  visit(c.ffn, {.name = "ffn", .help = "Width of the SwiGLU", .low = 1, .high = kMostWidth});
  visit(c.vocabulary, {.name = "vocabulary",
                       .help = "Rows of the embedding table; 0: the tokenizer's size",
                       .low = 0,
                       .high = 1 << 24});
  visit(c.rms_epsilon,
        {.name = "rms_epsilon", .help = "Epsilon of every RMSNorm", .low = 0, .high = 1, .above_low = true});
  visit(c.rope_base, {.name = "rope_base",
                      .help = "Base of the rotary frequencies",
                      .low = 1,
                      .high = 1e12,
                      .above_low = true});
  visit(c.tied, {.name = "tied", .help = "The embedding table is the output projection, too"});
}

template <typename Visitor>
void Fields(Visitor& visit, AgentConfig::Image& c) {
  visit(c.size, {.name = "size", .help = "Pixels a side; a multiple of patch", .low = 1, .high = 4096});
  visit(c.patch, {.name = "patch", .help = "Pixels a side of one patch", .low = 1, .high = 4096});
  visit(c.mean, {.name = "mean",
                 .help = "Taken from each pixel on the way in, added on the way out",
                 .low = -1000,
                 .high = 1000});
  visit(c.scale, {.name = "scale",
                  .help = "Times (pixel - mean) on the way in, undone on the way out",
                  .low = 0,
                  .high = 1000,
                  .above_low = true});
}

template <typename Visitor>
void Fields(Visitor& visit, AgentConfig::Stack& c) {
  visit(c.layers,
        {.name = "layers", .help = "Layers of attention over patches", .low = 1, .high = kMostLayers});
  visit(c.heads,
        {.name = "heads", .help = "Attention heads; divides language.hidden", .low = 1, .high = kMostLayers});
  visit(c.ffn, {.name = "ffn", .help = "Width of the ReLU network", .low = 1, .high = kMostWidth});
  visit(c.pre_norm,
        {.name = "pre_norm", .help = "Normalise before each part; false: after it, as published"});
  visit(c.dropout,
        {.name = "dropout", .help = "Probability, while training; only 0 so far", .low = 0, .high = 0});
}

template <typename Visitor>
void Fields(Visitor& visit, AgentConfig& c) {
  visit.Constant({.name = "kind", .help = "Which model this config is for", .required = true}, "agent");
  visit(c.language, {.name = "language", .help = "The text decoder, as Qwen3", .required = true});
  visit(c.image, {.name = "image", .help = "Pictures, in and out", .required = true});
  visit(c.encoder, {.name = "encoder", .help = "The image encoder", .required = true});
  visit(c.decoder, {.name = "decoder", .help = "The image decoder", .required = true});
}

namespace {

void CheckTogether(ConfigFile& file, const AgentConfig& c) {
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  if (c.language.heads % c.language.kv_heads != 0) {
    file.FailAt({"language", "kv_heads"}, "expected a divisor of the " + text(c.language.heads) +
                                              " heads, found " + text(c.language.kv_heads));
  }
  if (c.language.head_dim % 2 != 0) {
    file.FailAt({"language", "head_dim"}, "expected an even number, as rotary positions turn pairs; found " +
                                              text(c.language.head_dim));
  }
  if (c.image.size % c.image.patch != 0) {
    const std::int64_t below = c.image.size / c.image.patch * c.image.patch;
    file.FailAt({"image", "size"}, "expected a multiple of the patch of " + text(c.image.patch) +
                                       " pixels (" + (below > 0 ? text(below) + " or " : "") +
                                       text(below + c.image.patch) + "), found " + text(c.image.size));
  }
  // Two dimensions of positions, each with sine and cosine.
  if (c.language.hidden % 4 != 0) {
    file.FailAt({"language", "hidden"}, "expected a multiple of 4, for the positions of the patches; found " +
                                            text(c.language.hidden));
  }
  const auto check_heads = [&](const char* part, const AgentConfig::Stack& stack) {
    if (c.language.hidden % stack.heads != 0) {
      file.FailAt({part, "heads"}, "expected a divisor of language.hidden (" + text(c.language.hidden) +
                                       "), found " + text(stack.heads));
    }
  };
  check_heads("encoder", c.encoder);
  check_heads("decoder", c.decoder);
}

}  // namespace

void ReadConfig(ConfigFile& file, AgentConfig& config) {
  ReadFields(file, config);
  CheckTogether(file, config);
}

AgentConfig ReadAgentConfig(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  AgentConfig config;
  ReadConfig(file, config);
  diagnostics.Throw();
  return config;
}

const std::vector<std::string>& AgentInputNames() {
  static const std::vector<std::string> names = {"images", "tokens", "lengths", "supervised",
                                                 "context_lengths"};
  return names;
}

const std::vector<std::string>& AgentOutputNames() {
  static const std::vector<std::string> names = {"logits", "targets", "image"};
  return names;
}

nlohmann::ordered_json ToJson(const AgentConfig& config) { return FieldDumper::Dump(config); }

nlohmann::ordered_json AgentConfigSchema() {
  return SchemaWriter::File<AgentConfig>("medley agent model", "Sizes of the agent.");
}

}  // namespace medley
