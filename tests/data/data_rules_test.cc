#include <medley/data/data_rules.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <medley/base/newer.h>
#include <medley/base/random.h>
#include <medley/data/csv_file.h>
#include <medley/data/item_hash.h>
#include <medley/data/item_stream.h>
#include <medley/data/jsonl_file.h>
#include <medley/data/splits.h>
#include <medley/text/chat_strings.h>

#include "data_files.h"

#include "tests/words.h"

namespace medley {
namespace {

using Texts = std::vector<std::string>;
using Shown = std::set<std::string>;

Texts Numbered(int count, const std::string& begin = "item ") {
  Texts texts;
  for (int i = 0; i < count; ++i) texts.push_back(begin + std::to_string(i));
  return texts;
}

std::vector<std::uint64_t> HashesOf(const Texts& texts) {
  std::vector<std::uint64_t> hashes;
  for (const std::string& text : texts) hashes.push_back(HashItem(text));
  return hashes;
}

HeldOutItems ItemsAsked(double asked, DataRules* rules = nullptr, const std::string& files = "a.jsonl") {
  return {.asked = asked,
          .task = "riddles",
          .option = "tasks.riddles.options.held_out",
          .files = files,
          .by_place = "riddles",
          .rules = rules};
}

// What an epoch of a split shows; each item once.
Shown EpochOf(const ItemStream& stream, Split split, const Texts& texts) {
  Shown shown;
  std::set<std::int64_t> items;
  for (std::int64_t row = 0; row < stream.size(split); ++row) {
    const std::int64_t item = stream.ItemOf({.seed = 3, .split = split}, row);
    EXPECT_TRUE(items.insert(item).second) << item << " twice";
    shown.insert(texts.at(static_cast<std::size_t>(item)));
  }
  return shown;
}

struct Halves {
  Shown trained, held_out;
};
Halves HalvesOf(const HeldOutItems& asked, const Texts& texts) {
  const ItemStream stream(asked, HashesOf(texts));
  EXPECT_EQ(stream.size(Split::kTraining) + stream.size(Split::kHeldOut), std::ssize(texts));
  return {EpochOf(stream, Split::kTraining, texts), EpochOf(stream, Split::kHeldOut, texts)};
}

bool IsIn(const Shown& some, const Shown& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}
Shown Both(const Shown& a, const Shown& b) {
  Shown both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

std::string RefusalOf(const HeldOutItems& asked, const Texts& texts) {
  try {
    const ItemStream stream(asked, HashesOf(texts));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// XXH3-64 with seed 0, as other software computes it: a split holds for ever.
TEST(HashItem, IsTheSameForEver) {
  EXPECT_EQ(HashItem(""), 0x2d06800538d394c2ULL);
  EXPECT_EQ(HashItem("s12"), HashItem(std::string("s12")));
  EXPECT_NE(HashItem("s12"), HashItem("s12 "));
}

TEST(DataRules, EveryItemIsOnOneSideWhateverTheShare) {
  for (const double asked : {0.001, 0.1, 0.5, 0.7, 0.999, 1.0, 3.0, 499.0}) {
    const Texts texts = Numbered(500);
    const Halves halves = HalvesOf(ItemsAsked(asked), texts);
    EXPECT_TRUE(Both(halves.trained, halves.held_out).empty()) << asked;
    EXPECT_EQ(halves.trained.size() + halves.held_out.size(), texts.size()) << asked;
    const double share = asked < 1 ? asked : asked / 500;
    EXPECT_NEAR(static_cast<double>(halves.held_out.size()), std::clamp(share * 500, 1.0, 499.0), 45)
        << asked;
  }
}

// Appended, put in front, put between, sorted otherwise, thinned out: nobody who stays changes sides.
TEST(DataRules, AFileThatChangesMovesNobody) {
  for (const double asked : {0.2, 8.0}) {
    DataRules rules;
    Texts texts = Numbered(24);
    const Halves before = HalvesOf(ItemsAsked(asked, &rules), texts);
    for (int round = 0; round < 6; ++round) {
      const Texts more = Numbered(round == 2 ? 240 : 5, "new " + std::to_string(round) + " ");
      texts.insert(texts.begin() + round * 3, more.begin(), more.end());
      if (round % 2 == 1) std::sort(texts.begin(), texts.end());
      if (round == 3) std::reverse(texts.begin(), texts.end());
      if (round >= 4) texts.erase(texts.begin() + 7, texts.begin() + 19);
      const Halves now = HalvesOf(ItemsAsked(asked, &rules), texts);
      EXPECT_TRUE(Both(before.held_out, now.trained).empty()) << round;
      EXPECT_TRUE(Both(before.trained, now.held_out).empty()) << round;
    }
  }
}

TEST(DataRules, ALargerShareHoldsOutWhatASmallerOneDoes) {
  const Texts texts = Numbered(300);
  Shown smaller;
  for (const double asked : {0.05, 0.1, 0.3, 0.6, 0.95}) {
    const Shown now = HalvesOf(ItemsAsked(asked), texts).held_out;
    EXPECT_TRUE(IsIn(smaller, now)) << asked;
    smaller = now;
  }
}

TEST(DataRules, EqualItemsAreOnOneSide) {
  Texts texts;
  for (int i = 0; i < 60; ++i) texts.push_back("item " + std::to_string(i % 7));
  const Halves halves = HalvesOf(ItemsAsked(0.4), texts);
  EXPECT_TRUE(Both(halves.trained, halves.held_out).empty());
  EXPECT_FALSE(halves.trained.empty() || halves.held_out.empty());
}

// The one nearest to the share, for ever, also where the file has others by then.
TEST(DataRules, AnEmptySideGetsTheNearestItemAndKeepsIt) {
  for (const double asked : {1e-9, 0.999999}) {
    const bool lacks_held_out = asked < 0.5;
    for (int items = 2; items <= 4; ++items) {
      DataRules rules;
      Texts texts = Numbered(items);
      const Halves halves = HalvesOf(ItemsAsked(asked, &rules), texts);
      const Shown& lone = lacks_held_out ? halves.held_out : halves.trained;
      ASSERT_EQ(lone.size(), 1U);
      const auto far = std::minmax_element(
          texts.begin(), texts.end(), [](const auto& a, const auto& b) { return HashItem(a) < HashItem(b); });
      EXPECT_EQ(*lone.begin(), lacks_held_out ? *far.first : *far.second);
      DataRules again = DataRules::Of(rules.Json());
      const Texts more = Numbered(400, "more ");
      texts.insert(texts.begin(), more.begin(), more.end());
      const Halves grown = HalvesOf(ItemsAsked(asked, &again), texts);
      EXPECT_TRUE(IsIn(lone, lacks_held_out ? grown.held_out : grown.trained));
    }
  }
}

TEST(DataRules, RefusesWhatLeavesASideEmptyAndKeepsNothingOfIt) {
  DataRules rules;
  EXPECT_NE(RefusalOf(ItemsAsked(5, &rules), Numbered(5))
                .find("'riddles' has 5 items in a.jsonl, of which none is "
                      "left for training; "
                      "tasks.riddles.options.held_out is 5"),
            std::string::npos)
      << RefusalOf(ItemsAsked(5, &rules), Numbered(5));
  EXPECT_NE(RefusalOf(ItemsAsked(1e6, &rules), Numbered(5)), "");
  EXPECT_NE(RefusalOf(ItemsAsked(0.5, &rules), {"one"}).find("cannot be both"), std::string::npos);
  EXPECT_NE(RefusalOf(ItemsAsked(0.5, &rules), {"one", "one", "one"}).find("all equal"), std::string::npos);
  EXPECT_NE(RefusalOf(ItemsAsked(0.5, &rules), {}), "");
  EXPECT_NE(RefusalOf(ItemsAsked(-1, &rules), Numbered(5)), "");
  EXPECT_TRUE(rules.Json().at("held_out").empty()) << rules.Json().dump();
  EXPECT_TRUE(rules.TakeWords().empty());
}

TEST(DataRules, ANumberBecomesAShareThatTheRecordKeeps) {
  DataRules rules;
  HalvesOf(ItemsAsked(8, &rules), Numbered(24));
  const nlohmann::ordered_json json = rules.Json();
  EXPECT_EQ(json.at("held_out").at("riddles").at(0).at("share"), 8.0 / 24);
  DataRules again = DataRules::Of(nlohmann::ordered_json::parse(json.dump()));
  EXPECT_FALSE(again.is_changed());
  EXPECT_EQ(again.Json(), json);
  const Halves grown = HalvesOf(ItemsAsked(8, &again), Numbered(240));
  EXPECT_NEAR(static_cast<double>(grown.held_out.size()), 80, 30) << "a third, and not 8";
  EXPECT_TRUE(again.is_changed());
  // Another file, and another number, have shares of their own.
  EXPECT_LT(HalvesOf(ItemsAsked(8, &again, "b.jsonl"), Numbered(800)).held_out.size(), 25U);
  EXPECT_LT(HalvesOf(ItemsAsked(2, &again), Numbered(800)).held_out.size(), 12U);
}

TEST(DataRules, SaysHowManyOnceAndThatFewTellLittle) {
  DataRules rules;
  HalvesOf(ItemsAsked(0.25, &rules), Numbered(40));
  HalvesOf(ItemsAsked(0.25, &rules), Numbered(40));
  const auto words = rules.TakeWords();
  ASSERT_EQ(words.size(), 1U);
  const std::size_t held_out = HalvesOf(ItemsAsked(0.25), Numbered(40)).held_out.size();
  EXPECT_EQ(words[0], "'riddles' holds out " + std::to_string(held_out) +
                          " of 40 items of a.jsonl: the share 0.25. Scores of fewer than 100 items tell "
                          "little: a larger share holds out more");
  EXPECT_TRUE(rules.TakeWords().empty());
  HalvesOf(ItemsAsked(0.25, &rules), Numbered(4000));
  const auto grown = rules.TakeWords();
  ASSERT_EQ(grown.size(), 1U);
  EXPECT_NE(grown[0].find("; before they were " + std::to_string(held_out) +
                          " of 40. Scores of then and now are of other rows"),
            std::string::npos)
      << grown[0];
  EXPECT_EQ(grown[0].find("tell little"), std::string::npos);
}

// A run that began before holds out as it did, to the row.
TEST(DataRules, ARunWithoutTheRecordHoldsOutByPlace) {
  DataRules earlier = DataRules::Earlier();
  EXPECT_TRUE(earlier.Json().is_null());
  EXPECT_FALSE(earlier.NamesAreText());
  const Texts texts = Numbered(57);
  for (const double asked : {0.0, 0.4, 1.0, 9.0, 56.0}) {
    HeldOutItems held_out = ItemsAsked(asked, &earlier);
    held_out.by_place = "signs";
    const ItemStream now(held_out, HashesOf(texts)), then(57, static_cast<std::int64_t>(asked), "signs");
    for (const Split split : {Split::kTraining, Split::kHeldOut}) {
      ASSERT_EQ(now.size(split), then.size(split));
      for (std::int64_t row = 0; row < 200; ++row)
        ASSERT_EQ(now.ItemOf({.seed = 9, .split = split}, row),
                  then.ItemOf({.seed = 9, .split = split}, row));
    }
  }
  EXPECT_THROW(ItemStream(ItemsAsked(57, &earlier), HashesOf(texts)), InputError);
  EXPECT_TRUE(earlier.TakeWords().empty());
  EXPECT_FALSE(earlier.is_changed());
}

// Where nothing is held out no row is another one than before.
TEST(DataRules, WithoutHeldOutItemsRowsAreAsTheyWere) {
  const ItemStream now(ItemsAsked(0), HashesOf(Numbered(31))), then(31, 0, "riddles");
  for (std::int64_t row = 0; row < 100; ++row)
    ASSERT_EQ(now.ItemOf({.seed = 2}, row), then.ItemOf({.seed = 2}, row));
  EXPECT_FALSE(now.is_by_place());
}

EarlierItems From(DataRules rules, double asked, bool has_same_files) {
  EarlierItems from{.run = "runs/a", .rules = std::move(rules), .tasks = {}};
  from.tasks["riddles"] = {.options = {{"held_out", asked}}, .has_same_files = has_same_files};
  return from;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& line : words) all += line + "\n";
  return all;
}

TEST(DataRules, WeightsOfARunBeforeMayHaveSeenSomeAndThatIsSaid) {
  const Texts texts = Numbered(60);
  const ItemStream then(60, 20, "riddles");
  const Shown held_out_then = EpochOf(then, Split::kHeldOut, texts);
  DataRules rules;
  rules.TakeOver(From(DataRules::Earlier(), 20, true));
  const Shown now = HalvesOf(ItemsAsked(20, &rules), texts).held_out;
  const std::size_t seen = now.size() - Both(now, held_out_then).size();
  ASSERT_GT(seen, 0U);
  const std::string of =
      "of the " + std::to_string(now.size()) + " items that are held out now it may have trained on ";
  const std::string words = Joined(rules.TakeWords());
  EXPECT_NE(words.find("runs/a held out the items of 'riddles' by place, so they were others; " + of +
                       std::to_string(seen) + ". "),
            std::string::npos)
      << words;
  // Weights that are handed on once more have seen them all the same.
  EXPECT_EQ(rules.Json().at("held_out").at("riddles").at(0).at("seen"), seen);
  DataRules third;
  third.TakeOver(From(DataRules::Of(rules.Json()), 20, true));
  EXPECT_EQ(HalvesOf(ItemsAsked(20, &third), texts).held_out, now);
  const std::string of_third = Joined(third.TakeWords());
  EXPECT_NE(
      of_third.find("took weights of a run before it that held out other items of 'riddles'; of the " +
                    std::to_string(now.size()) +
                    " items that are held out now that one may have trained on " + std::to_string(seen)),
      std::string::npos)
      << of_third;
  // Of a file that is not known any more, and where nothing was held out, all may have been.
  for (const auto& [asked, same] : {std::pair(20.0, false), std::pair(0.0, true)}) {
    DataRules others;
    others.TakeOver(From(DataRules::Earlier(), asked, same));
    HalvesOf(ItemsAsked(20, &others), texts);
    const std::string all = Joined(others.TakeWords());
    EXPECT_NE(all.find(of + std::to_string(now.size())), std::string::npos) << all;
  }
}

TEST(DataRules, WeightsOfARunWithTheRecordKeepWhatItHeldOut) {
  DataRules before;
  const Shown held_out = HalvesOf(ItemsAsked(8, &before), Numbered(24)).held_out;
  DataRules rules;
  rules.TakeOver(From(DataRules::Of(before.Json()), 8, false));
  const Halves grown = HalvesOf(ItemsAsked(8, &rules, "grown.jsonl"), Numbered(240));
  EXPECT_TRUE(IsIn(held_out, grown.held_out)) << "and the file has another name by now";
  EXPECT_EQ(Joined(rules.TakeWords()).find("init_from"), std::string::npos);

  DataRules more;
  more.TakeOver(From(DataRules::Of(before.Json()), 8, true));
  const Shown now = HalvesOf(ItemsAsked(0.8, &more), Numbered(24)).held_out;
  const std::string words = Joined(more.TakeWords());
  EXPECT_NE(words.find("held out fewer items of 'riddles'; of the " + std::to_string(now.size()) +
                       " items that are held out now it may have trained on " +
                       std::to_string(now.size() - held_out.size())),
            std::string::npos)
      << words;
}

TEST(DataRules, WeightsOfARunThatHeldOutOthersMayHaveSeenWhatAFileHoldsOut) {
  DataRules before;
  const std::vector<std::uint64_t> training{1, 2, 3}, own{4, 5};
  before.NoteFile("riddles", training, own);
  const auto said = [&](const std::vector<std::uint64_t>& held_out) {
    DataRules rules;
    rules.TakeOver(From(DataRules::Of(before.Json()), 8, true));
    rules.NoteFile("riddles", training, held_out);
    return Joined(rules.TakeWords());
  };
  EXPECT_EQ(said(own).find("init_from"), std::string::npos);
  EXPECT_NE(said({5, 6}).find("init_from: runs/a held out other items of 'riddles'"), std::string::npos);
}

TEST(DataRules, APluginThatHoldsOutByPlaceIsNamedAndStaysSoWhenItIsBuiltAnew) {
  DataRules rules;
  rules.NoteByPlace("riddles", "8 of 24 by place");
  rules.NoteByPlace("riddles", "8 of 24 by place");
  EXPECT_EQ(rules.TakeWords().size(), 1U);
  DataRules again = DataRules::Of(rules.Json());
  const ItemStream now(ItemsAsked(8, &again), HashesOf(Numbered(24))), then(24, 8, "riddles");
  for (std::int64_t row = 0; row < 50; ++row)
    ASSERT_EQ(now.ItemOf({.seed = 4}, row), then.ItemOf({.seed = 4}, row));
}

TEST(DataRules, ThoseOfANewerMedleyAreNoDamage) {
  nlohmann::ordered_json json = DataRules().Json();
  EXPECT_NO_THROW(DataRules::Of(json));
  json["version"] = 2;
  json.erase("held_out");
  EXPECT_EQ(
      test::MessageOf<NewerError>([&] { DataRules::Of(json); }),
      "\"data_rules\" of the run's run.json is of a newer medley (version 2, this one reads 1). Use that "
      "medley");
}

TEST(DataRules, ARecordThatIsDamagedIsRefused) {
  DataRules rules;
  HalvesOf(ItemsAsked(8, &rules), Numbered(24));
  const nlohmann::ordered_json good = rules.Json();
  const auto refuses = [](const nlohmann::ordered_json& json) {
    EXPECT_THROW(DataRules::Of(json), InputError) << json.dump();
  };
  refuses(nullptr);
  refuses(nlohmann::ordered_json::array());
  for (const char* key : {"version", "held_out", "held_out_by_place"}) {
    nlohmann::ordered_json json = good;
    json.erase(key);
    refuses(json);
  }
  using Change = std::pair<std::string, nlohmann::ordered_json>;
  for (const auto& [key, value] :
       std::vector<Change>{{"share", 1.5}, {"share", "x"}, {"rows", 3}, {"sides", {{"zz", "held_out"}}}}) {
    nlohmann::ordered_json json = good;
    json["held_out"]["riddles"][0][key] = value;
    refuses(json);
  }
  nlohmann::ordered_json newer = good;
  newer["version"] = 2;
  refuses(newer);
}

class SidesOfFiles : public DataFiles {
 protected:
  template <typename File>
  static Shown HeldOut(const std::filesystem::path& file, double asked) {
    const File read(file);
    const Splits<File> splits(file, ItemsAsked(asked));
    Shown shown;
    for (std::int64_t row = 0; row < splits.stream().size(Split::kHeldOut); ++row) {
      const RowRange rows{.seed = 6, .split = Split::kHeldOut};
      if constexpr (std::is_same_v<File, CsvFile>)
        shown.insert(splits.Read(rows, row).at(0));
      else
        shown.insert(splits.Read(rows, row).Text("x"));
    }
    return shown;
  }
};

// Line ends, a mark of the byte order, blank lines and the last line's end are not a line's own bytes.
TEST_F(SidesOfFiles, HangOnTheBytesOfALineAndNotOnWhatStandsAroundIt) {
  std::string unix_lines, dos_lines = "\xef\xbb\xbf", table = "x,y\n", dos_table = "x,y\r\n";
  for (int i = 0; i < 40; ++i) {
    const std::string line = "{\"x\": \"" + std::to_string(i) + "\"}",
                      record = std::to_string(i) + ",\"a,b\"";
    unix_lines += line + "\n";
    dos_lines += line + "\r\n\r\n";
    table += record + "\n";
    dos_table += record + "\r\n";
  }
  dos_lines.resize(dos_lines.size() - 4);
  const Shown lines = HeldOut<JsonlFile>(Write("a.jsonl", unix_lines), 0.3);
  EXPECT_FALSE(lines.empty());
  EXPECT_EQ(HeldOut<JsonlFile>(Write("b.jsonl", dos_lines), 0.3), lines);
  const Shown records = HeldOut<CsvFile>(Write("a.csv", table), 0.3);
  EXPECT_FALSE(records.empty());
  EXPECT_EQ(HeldOut<CsvFile>(Write("b.csv", dos_table), 0.3), records);
  EXPECT_NE(records, lines) << "other bytes";
}

// From the cache as from the file; a file that was replaced, by a link even, is read anew.
TEST_F(SidesOfFiles, AreThoseOfTheFileAsItIsNow) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "{\"x\": \"" + std::to_string(i) + "\"}\n";
  const auto file = Write("a.jsonl", text);
  const JsonlFile fresh(file), cached(file);
  ASSERT_EQ(fresh.hashes().size(), 30U);
  EXPECT_TRUE(std::equal(fresh.hashes().begin(), fresh.hashes().end(), cached.hashes().begin()));
  for (std::int64_t item = 0; item < 30; ++item)
    EXPECT_EQ(cached.hashes()[static_cast<std::size_t>(item)],
              HashItem("{\"x\": \"" + std::to_string(item) + "\"}"));
  const Shown before = HeldOut<JsonlFile>(file, 0.4);
  const auto other = Write("b.jsonl", "{\"x\": \"new\"}\n" + text);
  std::filesystem::remove(file);
  std::filesystem::create_symlink(other, file);
  Shown now = HeldOut<JsonlFile>(file, 0.4);
  now.erase("new");
  EXPECT_EQ(now, before);
}

class ChatsOfRules : public DataFiles {};

constexpr char kAChat[] =
    R"({"head": "<u>", "to_assistant": "<a>", "to_user": "<e><u>", "tail": "<e>", "generation": "<a>", "end": "<e>"})";

TEST_F(ChatsOfRules, AreWhatTheirFilesSaidWhenTheyWereReadFirst) {
  const std::string file = Write("own.json", kAChat).string();
  DataRules rules;
  EXPECT_EQ(rules.Chat("").name, "plain");
  EXPECT_EQ(rules.Chat("chatml").name, "chatml");
  EXPECT_FALSE(rules.Json().contains("chats")) << "what is built in need not be kept";
  EXPECT_EQ(rules.Chat(file).to_user, "<e><u>");
  DataRules kept = DataRules::Of(nlohmann::ordered_json::parse(rules.Json().dump()));
  EXPECT_EQ(kept.Json(), rules.Json());
  std::filesystem::remove(file);
  EXPECT_EQ(kept.Chat(file).name, "own");
  EXPECT_EQ(kept.Chat(file).to_user, "<e><u>");
  const std::string unknown = Refusal([] { DataRules().Chat("chatm"); });
  EXPECT_NE(unknown.find("no such chat format; did you mean 'chatml'?"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("A format of one's own is a file NAME.json"), std::string::npos) << unknown;
  EXPECT_NE(Refusal([&] { DataRules().Chat(file); }), "");
}

}  // namespace
}  // namespace medley
