#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/model/forward_sizes.h>
#include <medley/model/model_context.h>
#include <medley/plugin/model_maker.h>

#include "tests/plugin/host_fixture.h"

namespace medley::testing {
namespace {

class ModelOfAPlugin : public ::testing::Test {
 protected:
  ModelOfAPlugin() {
    WriteBytes(directory_ / "model.json", R"({"kind": "series_net", "body": {"width": 8}})");
  }
  std::unique_ptr<Model> Make(std::uint64_t seed, at::Device device = at::kCPU) {
    return MakeModel(ReadModelFile(directory_ / "model.json", registry_), registry_, nullptr, seed, device);
  }

  TempDirectory directory_;
  Registry registry_ = ScanOnly({Fixture("series")});
};

TEST_F(ModelOfAPlugin, IsMadeOfItsFileAndOfTheSeedAlone) {
  const auto a = Make(1), b = Make(1), other = Make(2);
  EXPECT_EQ(a->spec().name, "series_net");
  ASSERT_EQ(a->parameters().size(), 6U);  // two layers and the head
  EXPECT_EQ(a->parameters()[0].tensor.sizes(), (at::IntArrayRef{8, 2}));
  for (std::size_t i = 0; i < a->parameters().size(); ++i)
    EXPECT_TRUE(a->parameters()[i].tensor.equal(b->parameters()[i].tensor));
  EXPECT_FALSE(a->parameters()[0].tensor.equal(other->parameters()[0].tensor));
}

TEST_F(ModelOfAPlugin, HasShapesAloneOnTheMetaDevice) {
  EXPECT_TRUE(Make(1, at::kMeta)->parameters()[0].tensor.is_meta());
}

TEST_F(ModelOfAPlugin, DoesNotMoveTheDefaultGenerator) {
  at::manual_seed(5);
  const at::Tensor before = at::rand({4});
  at::manual_seed(5);
  Make(1);
  EXPECT_TRUE(at::rand({4}).equal(before));
}

// Neither does medley ask for words that it has not, nor a task for what its model does not declare.
TEST_F(ModelOfAPlugin, ATaskIsToldWhatItsModelDoesNotDeclare) {
  const ModelFile file = ReadModelFile(directory_ / "model.json", registry_);
  const TaskContext context({.model = file.config}, "default", {});
  EXPECT_EQ(context.model().Integer("body.width"), 8);
  EXPECT_TRUE(Has(MessageOf([&] { context.tokenizer(); }),
                  "the task asks for the tokenizer, which the model 'series_net' does not declare"));
  EXPECT_TRUE(Has(MessageOf([&] { context.image(); }), "the size of pictures"));
  EXPECT_TRUE(Has(MessageOf([&] { context.control_text(); }), "the control text"));
  EXPECT_TRUE(Has(MessageOf([&] { ModelContext(file.config, 1, at::kCPU, nullptr).tokenizer(); }),
                  "add .tokenizer = true to kSpec"));
}

TEST_F(ModelOfAPlugin, AFieldIsNoIntegerWhereItsValueIsNone) {
  ModelConfig config = ReadModelFile(directory_ / "model.json", registry_).config;
  config.Set("body.width", 8.5);
  EXPECT_TRUE(Has(MessageOf([&] { config.Integer("body.width"); }), "'body.width'"));
  EXPECT_EQ(config.Number("body.width"), 8.5);
}

TEST_F(ModelOfAPlugin, SizesComeFromTheDimensionsOfTheInputs) {
  const auto model = Make(1);
  const ModelInputs inputs = {{"series", at::zeros({3, 40, 2}), ""},
                              {"lengths", at::tensor({10, 30, 20}, at::kLong), ""}};
  EXPECT_EQ(SizesOf(model->spec(), inputs).rows, 3);
  EXPECT_EQ(SizesOf(model->spec(), inputs).sizes.at("frames"), 40);
  EXPECT_EQ(LongestSizesOf(model->spec(), inputs).sizes.at("frames"), 30);
  const ModelConfig config = ReadModelFile(directory_ / "model.json", registry_).config;
  EXPECT_EQ(DimensionsOf(model->spec().outputs[0], SizesOf(model->spec(), inputs), config, 0),
            (std::vector<std::int64_t>{3, 3}));
}

TEST_F(ModelOfAPlugin, ThatDoesNotGenerateSaysSo) {
  const auto model = Make(1);
  ForwardContext context;
  EXPECT_TRUE(
      Has(MessageOf([&] { model->Generate({}, {}, context); }), "the model 'series_net' does not generate"));
}

}  // namespace
}  // namespace medley::testing
