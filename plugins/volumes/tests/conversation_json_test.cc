// The spellings of conversations that are about, and where their files lie.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/error.h>

#include "data/conversation_file.h"
#include "tests/nifti_bytes.h"

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Spelled : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "spelled_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    for (const char* name : {"a.nii", "b.nii", "c.nii", "d.nii", "e.nii"})
      Write(folder_ / name,
            NiftiBytes({2, 2, 2}).Add(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}).bytes());
    Write(folder_ / "over time.nii", NiftiBytes({2, 2, 2, 2}).Add(std::vector<std::uint8_t>(16, 1)).bytes());
  }
  void TearDown() override { fs::remove_all(folder_); }

  // "subject| user: [a.nii] words | assistant: yes" of the first conversation, or what is wrong with it.
  std::string Told(const json& line, const std::string& answer = "") const {
    Write(folder_ / "rows.jsonl", line.dump() + "\n");
    try {
      return Words(ConversationFile(folder_ / "rows.jsonl", {.answer = answer}).Read(0));
    } catch (const medley::InputError& error) {
      return error.what();
    }
  }
  static std::string Words(const Conversation& conversation) {
    std::string words = conversation.subject;
    for (const Turn& turn : conversation.turns) {
      words += turn.role == Role::kUser ? "| user:" : "| assistant:";
      for (const Content& item : turn.items) {
        const auto* scan = std::get_if<Scan>(&item);
        words += scan == nullptr
                     ? ' ' + std::get<std::string>(item)
                     : " [" + scan->nifti.filename().string() + " " + NameOf(scan->modality) + "]";
      }
    }
    return words;
  }

  fs::path folder_;
};

TEST_F(Spelled, LlavasImageStandsWhereItsMarkDoesOrInFront) {
  const auto line = [](const std::string& asked) {
    return json{
        {"id", "7"},
        {"image", "a.nii"},
        {"conversations", {{{"from", "human"}, {"value", asked}}, {{"from", "gpt"}, {"value", "yes"}}}}};
  };
  EXPECT_EQ(Told(line("<image>\nis it?")), "a.nii| user: [a.nii volume] \nis it?| assistant: yes");
  EXPECT_EQ(Told(line("is <image> it?")), "a.nii| user: is  [a.nii volume]  it?| assistant: yes");
  EXPECT_EQ(Told(line("is it?")), "a.nii| user: [a.nii volume] is it?| assistant: yes");
}

TEST_F(Spelled, MarksTakeTheImagesInTheirOrderAndTheirNumbersAgree) {
  json line = {{"images", {"a.nii", "b.nii"}},
               {"messages",
                {{{"role", "system"}, {"content", "Be brief."}},
                 {{"role", "user"}, {"content", "<image> and <image>?"}},
                 {{"role", "assistant"}, {"content", "yes"}}}}};
  EXPECT_EQ(Told(line), "a.nii b.nii| user: Be brief. [a.nii volume]  and  [b.nii volume] ?| assistant: yes");
  line["images"] = {"a.nii", "b.nii", "c.nii"};
  EXPECT_NE(Told(line).find("rows.jsonl:1: messages: its texts hold 2 <image>, beside them stand 3"),
            std::string::npos);
  line["images"] = {"a.nii"};
  EXPECT_NE(Told(line).find("rows.jsonl:1: messages[1].content: one <image> more than the 1"),
            std::string::npos);
  line["images"] = {"a.nii", "x.nii"};
  EXPECT_NE(Told(line).find("rows.jsonl:1: images[1]: "), std::string::npos) << Told(line);
}

TEST_F(Spelled, UmbrellasNamesItsScansInTheTurnsAndMayKeepAnAnswerInItsMetadata) {
  const auto image = [](const char* path, const char* modality) {
    return json{{"type", "image"}, {"modality", modality}, {"image_path", path}};
  };
  const auto text = [](const char* words) { return json{{"type", "text"}, {"text", words}}; };
  json line = {{"task_id", "t1"},
               {"task_type", "T3"},
               {"subject_ids", {"s1", "s2"}},
               {"modalities", {"sMRI", "fMRI"}},
               {"images",
                {{{"path", "a.nii"}, {"token", "<image_sMRI>"}, {"modality", "sMRI"}},
                 {{"path", "over time.nii"}, {"token", "<image_fMRI>"}, {"modality", "fMRI"}}}},
               {"conversations",
                {{{"role", "user"}, {"content", {image("a.nii", "sMRI"), text("a first one")}}},
                 {{"role", "assistant"}, {"content", {text("noted")}}},
                 {{"role", "user"}, {"content", {text("and this?"), image("over time.nii", "fMRI")}}},
                 {{"role", "assistant"}, {"content", {text("")}}}}},
               {"metadata", {{"subject_label", "older"}, {"age", 7}}}};
  const std::string told =
      "s1 s2| user: [a.nii volume] a first one| assistant: noted| user: and this? [over time.nii series]| "
      "assistant: ";
  EXPECT_EQ(Told(line, "metadata.subject_label"), told + "older");
  EXPECT_EQ(Told(line, "metadata.age"), told + "7");
  EXPECT_NE(Told(line, "metadata.sex")
                .find("rows.jsonl:1: the last answer is empty, and no text or number stands in "
                      "metadata.sex"),
            std::string::npos);
  EXPECT_NE(Told(line).find("rows.jsonl:1: conversations: the last answer is empty; name where it stands"),
            std::string::npos);
  line["conversations"][3]["content"][0]["text"] = "younger";
  EXPECT_EQ(Told(line, "metadata.subject_label"), told + "younger");
  line["conversations"].erase(3);
  EXPECT_NE(Told(line, "metadata.age").find("conversations: it ends without an assistant's turn"),
            std::string::npos);
}

TEST_F(Spelled, AnAssistantShowsNoScan) {
  const json line = {
      {"subject", "s1"},
      {"image", "a.nii"},
      {"conversations",
       {{{"from", "human"}, {"value", "Which?"}}, {{"from", "gpt"}, {"value", "This: <image>"}}}}};
  EXPECT_NE(Told(line).find("rows.jsonl:1: conversations[1].value: an assistant's turn holds a scan"),
            std::string::npos)
      << Told(line);
}

// As LLaVA's items without a picture: by "id", whatever it is, and else by all that it says.
TEST_F(Spelled, AConversationWithoutScansIsItsOwnSubject) {
  json line = {{"id", 7},
               {"conversations", {{{"from", "human"}, {"value", "?"}}, {{"from", "gpt"}, {"value", "!"}}}}};
  EXPECT_EQ(Told(line), "7| user: ?| assistant: !");
  line["id"] = "seven";
  EXPECT_EQ(Told(line), "seven| user: ?| assistant: !");
  line.erase("id");
  EXPECT_EQ(Told(line), line.dump() + "| user: ?| assistant: !");
}

// Two who share a scan, or are compared, are held out together.
TEST_F(Spelled, SubjectsOfOneConversationAreOne) {
  const auto row = [](const json& key, const json& value) {
    return json{{key.get<std::string>(), value},
                {"turns", {{{"role", "user"}, {"content", "?"}}, {{"role", "assistant"}, {"content", "!"}}}}};
  };
  Write(folder_ / "rows.jsonl", row("subject_ids", {"s2", "s1"}).dump() + "\n" + row("subject", "s1").dump() +
                                    "\n" + row("images", {"b.nii", "a.nii"}).dump() + "\n" +
                                    row("image", "a.nii").dump() + "\n");
  const ConversationFile file(folder_ / "rows.jsonl");
  EXPECT_EQ(file.subjects(), (std::vector<std::string>{"s1 s2", "a.nii b.nii"}));
  EXPECT_EQ(file.by_subject(), (std::vector<std::vector<std::int64_t>>{{0, 1}, {2, 3}}));
}

// Whether the file is there or not.
TEST_F(Spelled, APictureIsNoScan) {
  for (const std::string name : {"000.jpg", "a.JPEG", "b.png"}) {
    const json line = {
        {"id", "1"},
        {"image", name},
        {"conversations",
         {{{"from", "human"}, {"value", "<image>\nWhat is it?"}}, {{"from", "gpt"}, {"value", "A cat."}}}}};
    EXPECT_NE(Told(line).find("rows.jsonl:1: image: " + name + " is a picture; volumes takes scans: .nii"),
              std::string::npos)
        << Told(line);
  }
}

TEST_F(Spelled, TheHeaderSaysWhetherAScanIsASeriesWhereNothingElseDoes) {
  const json line = {
      {"subject", "s1"},
      {"image", "over time.nii"},
      {"conversations", {{{"from", "user"}, {"value", "?"}}, {{"from", "assistant"}, {"value", "!"}}}}};
  EXPECT_EQ(Told(line), "s1| user: [over time.nii series] ?| assistant: !");
}

TEST_F(Spelled, AListAndAFolderOfFilesHoldThemTooWhateverItsLinksLeadTo) {
  const auto row = [](const std::string& subject, const std::string& image) {
    return json{{"subject", subject},
                {"image", image},
                {"turns", {{{"role", "user"}, {"content", "?"}}, {{"role", "assistant"}, {"content", "!"}}}}};
  };
  fs::create_directories(folder_ / "all" / "inner" / "too deep");
  Write(folder_ / "all" / "1.json", json{row("s1", "../a.nii"), row("s2", "../b.nii")}.dump(2));
  Write(folder_ / "all" / "inner" / "2.json", row("s3", "../../c.nii").dump(1));
  Write(folder_ / "all" / "inner" / "too deep" / "3.json", "not looked at");
  Write(folder_ / "all" / "notes.txt", "not looked at");
  fs::create_directory_symlink("..", folder_ / "all" / "inner" / "loop");
  const ConversationFile list(folder_ / "all" / "1.json"), all(folder_ / "all");
  EXPECT_EQ(list.subjects(), (std::vector<std::string>{"s1", "s2"}));
  EXPECT_EQ(all.subjects(), (std::vector<std::string>{"s1", "s2", "s3"}));
  EXPECT_EQ(Words(all.Read(2)), "s3| user: [c.nii volume] ?| assistant: !");
  const std::string place = all.Read(1).where();
  EXPECT_TRUE(place.ends_with("1.json:16")) << place;
  Write(folder_ / "all" / "inner" / "2.json", "[]");
  EXPECT_THROW(all.Read(2), medley::InputError);
  fs::create_directories(folder_ / "none");
  EXPECT_THROW(ConversationFile(folder_ / "none"), medley::InputError);
}

}  // namespace
}  // namespace medley_volumes
