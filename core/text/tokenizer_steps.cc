#include <medley/text/tokenizer_steps.h>

#include <array>

namespace medley {
namespace {

// That of GPT-2, which ByteLevel has in itself.
constexpr std::string_view kWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Each is compiled.
constexpr std::size_t kLongestPattern = std::size_t{1} << 16;  // bytes
constexpr std::size_t kMostSteps = 64;

[[noreturn]] void Refuse(const JsonValue& step, const std::string& kind, const std::string& known) {
  step.Require("type").Fail("the " + kind + " " + Describe(step.Require("type").node()) +
                            " is not one that medley reads; it reads byte-level BPE, with " + known);
}

bool FlagOf(const JsonValue& object, std::string_view key, bool otherwise) {
  const auto value = object.Find(key);
  return value ? value->Flag() : otherwise;
}

// Calls `read` for each step of a Sequence, and of those in it; or for the only one.
template <typename Read>
void ForEachStep(const JsonValue& step, std::string_view list, const Read& read) {
  if (step.Require("type").Text() != "Sequence") return read(step);
  const JsonValue steps = step.Require(list).Array();
  for (std::size_t i = 0; i < steps.node().elements.size(); ++i) ForEachStep(steps.Element(i), list, read);
}

SplitBehavior BehaviorOf(const JsonValue& value) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kBehaviors = {
      {{"Removed", SplitBehavior::kRemoved},
       {"Isolated", SplitBehavior::kIsolated},
       {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
       {"MergedWithNext", SplitBehavior::kMergedWithNext},
       {"Contiguous", SplitBehavior::kContiguous}}};
  for (const auto& [name, behavior] : kBehaviors) {
    if (value.Text() == name) return behavior;
  }
  value.Fail("expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, found " +
             Describe(value.node()));
}

SplitStep ReadSplit(const JsonValue& step) {
  const JsonValue kind = step.Require("pattern");
  const auto literal = kind.Find("String");
  const JsonValue pattern = literal ? *literal : kind.Require("Regex");
  if (pattern.Text().size() > kLongestPattern)
    pattern.Fail("expected at most " + std::to_string(kLongestPattern) + " bytes, found " +
                 std::to_string(pattern.Text().size()));
  return {.pattern = pattern.Text(),
          .literal = literal.has_value(),
          .behavior = BehaviorOf(step.Require("behavior")),
          .invert = FlagOf(step, "invert", false)};
}

void ReadPreTokenizers(const JsonValue& root, std::vector<SplitStep>& steps) {
  bool byte_level = false;
  ForEachStep(root.Require("pre_tokenizer"), "pretokenizers", [&](const JsonValue& step) {
    const std::string& type = step.Require("type").Text();
    if (byte_level) step.Fail("stands behind ByteLevel, which medley reads as the last pre-tokenizer only");
    if (steps.size() == kMostSteps) step.Fail("expected at most " + std::to_string(kMostSteps) + " steps");
    if (type == "Split") {
      steps.push_back(ReadSplit(step));
    } else if (type == "Digits") {
      const bool each = FlagOf(step, "individual_digits", false);
      steps.push_back(
          {.pattern = "\\p{N}", .behavior = each ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
    } else if (type == "ByteLevel") {
      byte_level = true;
      const bool words = FlagOf(step, "use_regex", true), space = FlagOf(step, "add_prefix_space", true);
      if (words || space)
        steps.push_back({.pattern = std::string(kWords), .has_pattern = words, .prefix_space = space});
    } else {
      Refuse(step, "pre-tokenizer", "Split, Digits, ByteLevel and Sequence");
    }
  });
  if (!byte_level)
    root.Require("pre_tokenizer").Fail("has no ByteLevel; medley reads vocabularies of byte-level BPE only");
}

}  // namespace

void ReadTokenizerSteps(const JsonValue& root, TokenizerJson& tokenizer) {
  if (const auto normalizer = root.Find("normalizer")) {
    ForEachStep(*normalizer, "normalizers", [&](const JsonValue& step) {
      if (step.Require("type").Text() != "NFC") Refuse(step, "normalizer", "NFC, Sequence or none");
      tokenizer.nfc = true;
    });
  }
  ReadPreTokenizers(root, tokenizer.steps);
  // What it adds is what add_special_tokens=False leaves out.
  if (const auto processor = root.Find("post_processor")) {
    ForEachStep(*processor, "processors", [](const JsonValue& step) {
      const std::string& type = step.Require("type").Text();
      if (type != "ByteLevel" && type != "TemplateProcessing")
        Refuse(step, "post-processor", "ByteLevel, TemplateProcessing, Sequence or none");
    });
  }
  if (const auto decoder = root.Find("decoder")) {
    ForEachStep(*decoder, "decoders", [](const JsonValue& step) {
      if (step.Require("type").Text() != "ByteLevel") Refuse(step, "decoder", "ByteLevel");
    });
  }
}

}  // namespace medley
