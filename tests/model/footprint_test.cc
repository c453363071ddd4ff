#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>
#include <medley/memory/cpu_allocator.h>

#include <ostream>

#include "tests/model/agent_fixture.h"

namespace medley {

std::ostream& operator<<(std::ostream& out, const ForwardShape& shape) {
  return out << shape.rows << " rows, " << shape.images << " images, width " << shape.text_width << ", "
             << shape.supervised << " items, picture " << shape.decodes_image;
}

namespace {

// Sizes of which no part hides another.
AgentConfig Config(bool pre_norm) {
  AgentConfig config = test::SmallConfig(pre_norm);
  config.language.hidden = 48;
  config.language.heads = 6;
  config.language.kv_heads = 3;
  config.language.head_dim = 12;
  config.language.ffn = 80;
  config.language.layers = 3;
  config.image.size = 24;
  config.image.patch = 6;
  config.encoder.ffn = config.decoder.ffn = 96;
  return config;
}

// Full rows whose last tokens are learned.
ModelInputs InputsOf(const ForwardShape& shape) {
  const at::Generator generator = at::detail::createCPUGenerator(5);
  const std::int64_t a_row = shape.supervised / shape.rows;
  ModelInputs inputs;
  for (std::int64_t i = 0; i < shape.images; ++i) {
    inputs.push_back({"images", at::rand({shape.rows, 3, 24, 24}, generator), ""});
  }
  std::vector<std::int64_t> learned;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t i = a_row; i > 0; --i) learned.push_back((row + 1) * shape.text_width - i);
  }
  inputs.push_back({"tokens", at::randint(7, 120, {shape.rows, shape.text_width}, generator, at::kLong), ""});
  inputs.push_back({"lengths", at::full({shape.rows}, shape.text_width, at::kLong), ""});
  inputs.push_back({"supervised", at::tensor(learned, at::kLong), ""});
  return inputs;
}

std::int64_t BytesHeld(const Agent& agent, const ForwardShape& shape) {
  const ModelInputs inputs = InputsOf(shape);
  WantedOutputs wanted;
  if (shape.supervised > 0) wanted.push_back("logits");
  if (shape.decodes_image) wanted.push_back("image");
  ForwardContext context;
  agent.Forward(inputs, wanted, context);  // whatever is made once is there
  const std::int64_t before = ReadCpuMemory().now;
  const ModelOutputs outputs = agent.Forward(inputs, wanted, context);
  return ReadCpuMemory().now - before;
}

std::int64_t Kept(const Agent& agent, const ForwardShape& shape) {
  std::int64_t kept = 0;
  for (const ForwardPart& part : agent.Footprint(shape)) kept += part.kept;
  return kept;
}

TEST(Footprint, IsNeverBelowTheBytesHeldAndAtMost15PercentAbove) {
  InstallCpuAllocator();
  for (const bool pre_norm : {false, true}) {
    Agent agent(Config(pre_norm), test::LetterTokenizer(), /*seed=*/7);
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      agent.To(at::kCPU, dtype);
      for (const ForwardShape& shape : {
               ForwardShape{.rows = 4, .images = 1, .text_width = 24, .supervised = 92},
               ForwardShape{.rows = 4, .images = 1, .text_width = 24, .supervised = 12},
               ForwardShape{.rows = 1, .images = 1, .text_width = 10, .decodes_image = true},
               ForwardShape{
                   .rows = 4, .images = 1, .text_width = 24, .supervised = 92, .decodes_image = true},
               ForwardShape{.rows = 3, .images = 3, .text_width = 12, .supervised = 6, .decodes_image = true},
               ForwardShape{.rows = 5, .images = 0, .text_width = 40, .supervised = 60},
           }) {
        const auto held = static_cast<double>(BytesHeld(agent, shape));
        const double ratio = static_cast<double>(Kept(agent, shape)) / held;
        EXPECT_GE(ratio, 1) << shape << ", held " << held;
        EXPECT_LE(ratio, 1.15) << shape << ", held " << held;
      }
    }
  }
}

}  // namespace
}  // namespace medley
