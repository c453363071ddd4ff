#include <medley/eval/held_out_loss.h>

#include <cmath>

#include "tests/model/letter_tokenizer.h"
#include "tests/step/executor_fixture.h"

namespace medley::testing_fixture {
namespace {

constexpr std::int64_t kWidth = 8;

inline constexpr ModelSpec kReaderSpec{
    .name = "reader",
    .sizes = {{.name = "text_width"}, {.name = "supervised", .ragged = true}},
    .inputs = {{.name = "tokens", .dtype = "int64", .dimensions = {"rows", "text_width"}},
               {.name = "supervised", .dtype = "int64", .dimensions = {"supervised"}}},
    .outputs = {{.name = "losses", .dimensions = {"supervised"}}}};

// Half a nat for each token.
class Reader : public Model {
 public:
  Reader() : Model(kReaderSpec) {}
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&, ForwardContext&) const override {
    return {{"losses", at::full(InputNamed(inputs, "supervised").sizes(), 0.5)}};
  }
  Generated Generate(const ModelInputs&, const GenerateOptions&, ForwardContext&) const override {
    return {};
  }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  void To(at::Device, at::ScalarType) override {}

 private:
  std::vector<Parameter> parameters_;
};

// As a vocabulary of SentencePiece has it: 'z' is not in it.
class WithUnknown : public test::LetterTokenizer {
 public:
  std::string Piece(std::int64_t id) const override {
    const std::string piece = LetterTokenizer::Piece(id);
    return piece == "z" ? "<unk>" : piece;
  }
};

// Tells nothing of the texts' bytes where there is no tokenizer.
class HeldOutText : public ::testing::Test {
 protected:
  void Read(const Tokenizer* tokenizer = nullptr) {
    loss_ = std::make_unique<HeldOutLoss>(*fixture_.task, model_, at::kCPU);
    loss_->CountText(tokenizer);
  }
  // Rows of these texts, each learned from its first token on; and how many items "other" has in each.
  void Add(const std::vector<std::string>& texts, const std::vector<std::int64_t>& other) {
    Batch rows({.count = std::ssize(texts)});
    at::Tensor tokens = at::zeros({rows.size(), kWidth}, at::kLong);
    std::vector<std::int64_t> learned, items;
    for (const std::string& text : texts) {
      const std::vector<std::int64_t> ids = tokenizer_.Encode(text);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::int64_t at = std::ssize(items) * kWidth + 1 + static_cast<std::int64_t>(i);
        tokens.view(-1)[at] = ids[i];
        learned.push_back(at);
      }
      items.push_back(std::ssize(ids));
    }
    rows.Add("tokens", tokens);
    learned_ = at::tensor(learned, at::kLong);
    rows.SetItems("words", at::tensor(items));
    rows.SetItems("other", at::tensor(other));
    loss_->Add(rows);
  }
  TextLoss Words() const {
    const auto text = loss_->Text();
    EXPECT_EQ(text.size(), 1u);
    return text.at("words");
  }

  test::LetterTokenizer tokenizer_;
  std::unique_ptr<HeldOutLoss> loss_;

 private:
  static TaskInfo Info() {
    TaskInfo info;
    info.name = "reading";
    info.variants = {{.name = "default",
                      .passes = {{.name = "read", .text_width = kWidth, .images = {}, .carries = {}}},
                      .terms = {{.name = "words", .weight = 3, .max_items = kWidth},
                                {.name = "other", .max_items = kWidth}}}};
    info.inputs = {"tokens", "supervised"};
    info.outputs = {"losses"};
    return info;
  }
  Sums Run(PassContext& context) const {
    const at::Tensor losses =
        context
            .Forward({{.name = "tokens", .tensor = context.batch().Column("tokens"), .key = ""},
                      {.name = "supervised", .tensor = learned_, .key = ""}},
                     {"losses"})
            .at("losses");
    return {{"words", losses.sum()}, {"other", losses.sum()}};
  }

  at::Tensor learned_;
  Reader model_;
  Fixture fixture_{Info(), {.sample = {}, .run = [this](const std::string&, PassContext& context) {
                              return Run(context);
                            }}};
};

TEST_F(HeldOutText, IsOfTheTokensThatAreLearnedAndOfTheBytesThatTheySpell) {
  Read(&tokenizer_);
  Add({"ab<eos>", "c"}, {1, 1});
  Add({"defg"}, {0});
  const TextLoss words = Words();
  EXPECT_EQ(words.tokens, 8);
  EXPECT_EQ(words.bytes, 7) << "a special token spells none";
  EXPECT_DOUBLE_EQ(words.loss, 0.5) << "without the term's weight";
  EXPECT_DOUBLE_EQ(words.perplexity(), std::exp(0.5));
  EXPECT_DOUBLE_EQ(words.bits_per_byte().value(), 8 * 0.5 / std::log(2.0) / 7);
}

TEST_F(HeldOutText, OfATokenThatStandsForAnyBytesHasPerplexityAlone) {
  const WithUnknown tokenizer;
  for (const Tokenizer* read_by :
       {static_cast<const Tokenizer*>(&tokenizer), static_cast<const Tokenizer*>(nullptr)}) {
    Read(read_by);
    Add({"abz"}, {1});
    Add({"ab"}, {1});
    const TextLoss words = Words();
    EXPECT_EQ(words.tokens, 5);
    EXPECT_DOUBLE_EQ(words.perplexity(), std::exp(0.5));
    EXPECT_FALSE(words.bits_per_byte());
  }
}

// One row in which they differ tells them apart, whatever the others have and in which order they come.
TEST_F(HeldOutText, OfTwoTermsIsOnlyWhatIsToldFromTheOther) {
  Read(&tokenizer_);
  Add({"ab", "c"}, {2, 1});
  EXPECT_TRUE(loss_->Text().empty()) << "which of them?";
  Add({"de"}, {1});
  EXPECT_EQ(Words().tokens, 5);
  EXPECT_EQ(Words().bytes, 5);
}

// Such as the last rows of an evaluation.
TEST_F(HeldOutText, GoesThroughRowsInWhichNothingIsLearned) {
  Read(&tokenizer_);
  Add({"ab"}, {1});
  Add({"", ""}, {0, 0});
  EXPECT_EQ(Words().tokens, 2);
  Read(&tokenizer_);
  Add({"ab"}, {0});
  EXPECT_EQ(Words().bytes, 2) << "beside a term without items";
  Read(&tokenizer_);
  Add({""}, {0});
  EXPECT_TRUE(loss_->Text().empty());
}

}  // namespace
}  // namespace medley::testing_fixture
