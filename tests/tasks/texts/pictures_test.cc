// Conversations that show pictures, in people's spellings.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/data/resize_picture.h>
#include <medley/report/picture.h>

#include "tests/plugin/test_files.h"
#include "tests/tasks/texts/talk_testing.h"

namespace medley::tasks {
namespace {

using testing::WriteBytes;

constexpr std::int64_t kSize = 4, kImageToken = 256 + 4;

// "<image>" is 260.
const ByteTokenizer& SeeingBytes() {
  static const ByteTokenizer tokenizer({"<pad>", "<eos>", "<|im_start|>", "<|im_end|>", "<image>", "<bos>",
                                        "<start_of_turn>", "<end_of_turn>"});
  return tokenizer;
}

// A model whose pictures stand among words, by that token.
constexpr ModelSpec kSeeing{.name = "seeing",
                            .summary = "",
                            .fields = {IntegerField("tower.image_token", kImageToken, 0, 1 << 20, "")}};

constexpr char kFormat[] =
    R"({"head": "<|im_start|>user\n", "to_assistant": "<|im_end|>\n<|im_start|>assistant\n",
  "to_user": "<|im_end|>\n<|im_start|>user\n", "tail": "<|im_end|>\n", "generation": "<|im_end|>\n<|im_start|>assistant\n",
  "end": "<|im_end|>", "image": "<image>\n", "specials": ["<|im_start|>", "<|im_end|>", "<image>"]})";

struct SeenSetting {
  double images = 1;
  bool among_words = false;
  std::string task = "chat", chat{};
  std::optional<ImageGeometry> image = ImageGeometry{kSize, 2};
};

class SeenTalk : public ::testing::Test {
 protected:
  SeenTalk() {
    for (const auto& [name, red] : {std::pair{"red.png", 200}, {"dark.png", 10}}) {
      Picture picture(8, 8, 0);
      for (std::size_t i = 0; i < picture.pixels.size(); i += 3)
        picture.pixels[i] = static_cast<std::uint8_t>(red);
      WriteBytes(work_ / name, EncodePng(picture));
    }
    WriteBytes(work_ / "format.json", kFormat);
  }

  // Of a file with this text.
  std::unique_ptr<Task> Open(const std::string& text, const SeenSetting& setting = {}) {
    WriteBytes(work_ / "talk.json", text);
    OptionValues options = OptionsOf(*TaskNamed(setting.task).spec);
    options["data"] = (work_ / "talk.json").string();
    options["text_width"] = 96.0;
    options["held_out"] = 0.0;
    if (setting.task == "chat") options["images"] = setting.images;
    static const ModelConfig* seeing = new ModelConfig(InfoOf(kSeeing));
    contexts_.push_back(
        std::make_unique<TaskContext>(TaskSurroundings{.model = setting.among_words ? *seeing : AgentValues(),
                                                       .tokenizer = &SeeingBytes(),
                                                       .image = setting.image,
                                                       .task = "talk",
                                                       .chat = setting.chat},
                                      "default", options));
    return TaskNamed(setting.task).make(*contexts_.back());
  }
  // What it refuses, the folder left out.
  std::string Refusal(const std::string& text, const SeenSetting& setting = {}) {
    try {
      Open(text, setting)->Sample({1, 0, 1});
      return "";
    } catch (const Error& error) {
      std::string words = error.what();
      const std::string folder = work_.path().string() + "/";
      for (std::size_t at; (at = words.find(folder)) != std::string::npos;) words.erase(at, folder.size());
      return words;
    }
  }
  std::string FormatFile() const { return (work_ / "format.json").string(); }

  static std::string TextOf(const Batch& batch) {
    const at::Tensor values = batch.Slice(0, 1).Ragged("tokens").values;
    return SeeingBytes().Decode(
        {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()});
  }

  testing::TempDirectory work_;
  std::vector<std::unique_ptr<TaskContext>> contexts_;
};

const std::string kLlava =
    R"([{"id": 1, "image": "red.png", "conversations": [{"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": "Red."}]}])";

TEST_F(SeenTalk, EverySpellingIsTheSameConversation) {
  const std::vector<std::string> spellings = {
      kLlava,
      R"({"image": "red.png", "conversations": [{"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": "Red."}]})",
      R"({"images": ["red.png"], "messages": [{"role": "user", "content": "<image>What is it?"}, {"role": "assistant", "content": "Red."}]})",
      R"({"images": [{"path": "red.png", "token": "<image>", "modality": "photo"}], "conversations": [{"role": "user", "content": [{"type": "image", "modality": "photo", "image_path": "red.png"}, {"type": "text", "text": "What is it?"}]}, {"role": "assistant", "content": [{"type": "text", "text": "Red."}]}]})",
      R"({"images": ["red.png"], "messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}, {"role": "assistant", "content": "Red."}]})",
      R"({"image": "red.png", "messages": [{"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "Red."}]})",
      R"({"image": "red.png", "prompt": "<image>\nWhat is it?", "completion": "Red."})",
  };
  for (const std::string& spelling : spellings) {
    const Batch batch = Open(spelling)->Sample({1, 0, 1});
    EXPECT_EQ(TextOf(batch), "user:What is it?<eos>assistant:Red.<eos>") << spelling;
    const at::Tensor& picture = batch.Column("picture1");
    ASSERT_EQ(picture.sizes(), (at::IntArrayRef{1, 3, kSize, kSize}));
    EXPECT_TRUE(picture[0][0].eq(200).all().item<bool>() && picture[0][1].eq(0).all().item<bool>())
        << spelling;
    const Batch seen = Open(spelling, {.among_words = true, .chat = FormatFile()})->Sample({1, 0, 1});
    EXPECT_EQ(TextOf(seen),
              "<|im_start|>user\n<image>\nWhat is it?<|im_end|>\n<|im_start|>assistant\nRed.<|im_end|>\n");
  }
}

TEST_F(SeenTalk, PicturesStandWhereTheyWereInTheirOrder) {
  const std::string line =
      R"({"images": ["red.png", "dark.png"], "messages": [{"role": "user", "content": "a<image>\nb"}, {"role": "assistant", "content": "c"}, {"role": "user", "content": "d<image>"}, {"role": "assistant", "content": "e"}]})";
  const SeenSetting setting{.images = 2, .among_words = true, .chat = FormatFile()};
  const Batch batch = Open(line, setting)->Sample({1, 0, 1});
  EXPECT_EQ(TextOf(batch),
            "<|im_start|>user\na<image>\nb<|im_end|>\n<|im_start|>assistant\nc<|im_end|>\n<|im_start|>user\n"
            "d<image>\n<|im_end|>\n<|im_start|>assistant\ne<|im_end|>\n");
  EXPECT_EQ(batch.Column("picture1")[0][0][0][0].item<int>(), 200);
  EXPECT_EQ(batch.Column("picture2")[0][0][0][0].item<int>(), 10);
}

// A piece of an evaluation that keeps what it was asked.
class SeenPass final : public EvalPass {
 public:
  SeenPass(Batch batch, std::vector<ModelInputs>& asked) : batch_(std::move(batch)), asked_(asked) {}

  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view) override { throw Error("no constants"); }
  at::Tensor Pixels(std::string_view name) override { return batch_.Column(std::string(name)); }
  ModelInput Image(std::string_view name) override { return {"images", Pixels(name).to(at::kFloat), ""}; }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&) override {
    const std::int64_t items = InputNamed(inputs, "supervised").size(0);
    return {{"logits", at::zeros({items, SeeingBytes().size()})}};
  }
  ModelOutputs ForwardOf(std::string_view, const ModelInputs&, const WantedOutputs&) override {
    throw Error("no references");
  }
  void Carry(std::string_view, at::Tensor) override { throw Error("no carries"); }
  at::Tensor Carried(std::string_view) override { throw Error("no carries"); }
  Generated Generate(const ModelInputs& prompt, const GenerateOptions&) override {
    asked_.push_back(prompt);
    Generated generated;
    generated.tokens.emplace_back();
    return generated;
  }

 private:
  Batch batch_;
  std::vector<ModelInputs>& asked_;
};

class SeenEval final : public EvalContext {
 public:
  explicit SeenEval(const Task& task) : task_(task) {}
  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override {
    SeenPass pass(task_.Sample(rows).To(at::kCPU), asked);
    fn(pass);
  }
  std::vector<ModelInputs> asked;

 private:
  const Task& task_;
};

// What is shown behind the last answer that is learned is no part of the question.
TEST_F(SeenTalk, ASheetAsksWithThePicturesOfItsQuestion) {
  const std::string line =
      R"({"images": ["red.png", "dark.png"], "messages": [{"role": "user", "content": "a<image>"}, {"role": "assistant", "content": "c"}, {"role": "user", "content": "d<image>"}, {"role": "assistant", "content": "e", "learned": false}]})";
  const SeenSetting setting{.images = 2, .among_words = true, .chat = FormatFile()};
  const std::unique_ptr<Task> task = Open(line, setting);
  SeenEval context(*task);
  task->Evaluate(context, {1, 0, 1});
  ASSERT_EQ(context.asked.size(), 1U);
  std::int64_t shown = 0;
  for (const ModelInput& input : context.asked[0]) {
    if (input.name != "images") continue;
    ++shown;
    EXPECT_EQ(input.tensor[0][0][0][0].item<double>(), 200) << "the first one";
  }
  EXPECT_EQ(shown, 1);
  EXPECT_EQ(InputNamed(context.asked[0], "tokens").eq(kImageToken).sum().item<std::int64_t>(), shown);
}

// A literal <image> of somebody who names no files is text.
TEST_F(SeenTalk, WithoutFilesTheMarkIsText) {
  const Batch batch =
      Open(
          R"({"messages": [{"role": "user", "content": "say <image>"}, {"role": "assistant", "content": "no"}]})",
          {.images = 0, .among_words = true, .chat = FormatFile()})
          ->Sample({1, 0, 1});
  const at::Tensor& tokens = batch.Ragged("tokens").values;
  EXPECT_FALSE(tokens.eq(kImageToken).any().item<bool>());
}

TEST_F(SeenTalk, FilesAreResizedByTheModelsRule) {
  Picture wide(9, 5, 0);
  for (std::size_t i = 0; i < wide.pixels.size(); ++i)
    wide.pixels[i] = static_cast<std::uint8_t>(37 * i % 251);
  WriteBytes(work_ / "red.png", EncodePng(wide));
  const PictureRule rule{
      .resizes = true, .resampling = PictureRule::Resampling::kBicubic, .shortest_edge = 4};
  const at::Tensor picture =
      Open(kLlava, {.image = ImageGeometry{kSize, 2, rule}})->Sample({1, 0, 1}).Column("picture1");
  const std::vector<std::uint8_t> expected = ResizePicture(wide, kSize, rule).ToPlanes();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), picture.const_data_ptr<std::uint8_t>()));
}

TEST_F(SeenTalk, WhatIsWrongIsSaidOfItsLine) {
  const auto line = [](const std::string& images, const std::string& words) {
    return R"({"images": )" + images + R"(, "messages": [{"role": "user", "content": ")" + words +
           R"("}, {"role": "assistant", "content": "b"}]})";
  };
  EXPECT_EQ(
      Refusal(line(R"(["red.png"])", "a<image><image>"))
          .rfind("talk.json:1: messages[0].content: one <image> more than the 1 that stand beside the turns",
                 0),
      0U)
      << Refusal(line(R"(["red.png"])", "a<image><image>"));
  EXPECT_EQ(Refusal(line(R"(["red.png", "dark.png"])", "a<image>"), {.images = 2})
                .rfind("talk.json:1: messages: its texts hold 1 <image>, beside them stand 2", 0),
            0U)
      << Refusal(line(R"(["red.png", "dark.png"])", "a<image>"), {.images = 2});
  EXPECT_EQ(
      Refusal(line(R"(["red.png", "dark.png"])", "a"))
          .rfind("talk.json:1: it shows 2 pictures, and the option images is 1: all rows of a task show "
                 "equally many, 4 at most",
                 0),
      0U)
      << Refusal(line(R"(["red.png", "dark.png"])", "a"));
  EXPECT_EQ(Refusal(line(R"(["none.png"])", "a")).rfind("talk.json:1: images[0]: ", 0), 0U)
      << Refusal(line(R"(["none.png"])", "a"));
  EXPECT_EQ(Refusal(R"({"prompt": "a", "completion": "b"})").rfind("talk.json:1: it shows 0 pictures", 0),
            0U);
  EXPECT_EQ(
      Refusal(
          R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"image": "red.png"}]}]})")
          .rfind("talk.json:1: messages[1].content: shows a picture, which only a user's words can", 0),
      0U);
  EXPECT_NE(Refusal(R"({"image": "red.png", "prompt": "a", "chosen": "b", "rejected": "c"})",
                    {.task = "preference"})
                .find("preferences are about words alone"),
            std::string::npos);
  WriteBytes(work_ / "red.png", "no picture");
  EXPECT_EQ(Refusal(kLlava).rfind("talk.json:1: image: red.png", 0), 0U) << Refusal(kLlava);
  EXPECT_EQ(Refusal(R"([{"image": 3, "conversations": []}])").rfind("talk.json:1: ", 0), 0U);
}

TEST_F(SeenTalk, AFormatThatWritesNoPictureOfTheModelIsRefused) {
  WriteBytes(work_ / "format.json", [] {
    std::string text = kFormat;
    for (std::size_t at; (at = text.find("<image>")) != std::string::npos;) text.replace(at, 7, "<bos>");
    return text;
  }());
  const std::string words = Refusal(kLlava, {.among_words = true, .chat = FormatFile()});
  EXPECT_NE(words.find("the chat format 'format' writes '<bos>\\x0a' for a picture, which has the model's "
                       "token for one, 260, "
                       "0 times; expected once"),
            std::string::npos)
      << words;
}

TEST_F(SeenTalk, AModelWithoutPicturesIsRefused) {
  const std::string words = Refusal(kLlava, {.image = std::nullopt});
  EXPECT_NE(words, "");
  EXPECT_NE(words.find("agent"), std::string::npos) << words;
}

}  // namespace
}  // namespace medley::tasks
