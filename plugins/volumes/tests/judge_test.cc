// What an evaluation says of replies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include <medley/task/text_rows.h>

#include "data/judge.h"
#include "tests/models.h"

namespace medley_volumes {
namespace {

// "1 0 -", where a row does not count.
std::string Text(const std::vector<double>& rows) {
  std::string text;
  for (const double row : rows)
    text += std::string(text.empty() ? "" : " ") + (std::isnan(row) ? "-" : row > 0 ? "1" : "0");
  return text;
}

TEST(Judge, AReplyContainsTheAnswerWhateverItsCaseAndDots) {
  EXPECT_TRUE(ContainsAnswer("It is a Male.", " male"));
  EXPECT_TRUE(ContainsAnswer("3.5 cm", "35"));
  EXPECT_TRUE(ContainsAnswer("female", "male")) << "as there";
  EXPECT_FALSE(ContainsAnswer("male", "female"));
  EXPECT_FALSE(ContainsAnswer("", "yes"));
  EXPECT_FALSE(ContainsAnswer("anything", " .")) << "no words are not in all of them";
}

TEST(Judge, ASubjectIsRightWhereMoreThanHalfOfItsRowsAre) {
  EXPECT_EQ(Text(MajorityBySubject({1, 0, 1, 1, 0, 0, 1}, {"b", "b", "b", "a", "a", "d", "c"})),
            "1 - - 0 - 0 1");
  EXPECT_EQ(Text(MajorityBySubject({}, {})), "");
}

constexpr std::int64_t kJudged = 4;

// Row 0 is answered as it should be, row 1 in capitals, row 2 goes on where it should end, row 3 begins
// otherwise.
medley::Outcomes Judged(std::int64_t piece, const std::vector<std::string>& subjects) {
  const Made made;
  const std::vector<Conversation> conversations =
      Rows(kJudged, [&](medley::Row& row) { return SingleExample(row, made.geometry()); });
  Judge judge(kBytes);
  for (std::int64_t begin = 0; begin < kJudged; begin += piece) {
    const medley::Batch batch =
        made.BatchOf({conversations.begin() + begin, conversations.begin() + begin + piece}, begin);
    const at::Tensor& tokens = batch.Column("tokens");
    const medley::RaggedColumn& answers = batch.Ragged("answer");
    const auto right =
        medley::HostValues(tokens.flatten().index_select(0, medley::FlatPositions(answers, tokens.size(1))));
    std::vector<std::int64_t> said = right;
    for (std::int64_t row = begin; row < begin + piece; ++row) {
      const auto at = static_cast<std::size_t>(row - begin);
      const auto first = said.begin() + answers.offsets[at],
                 last = said.begin() + answers.offsets[at + 1] - 1;
      const std::int64_t letter_a = kBytes.Encode("a")[0], letter_z = kBytes.Encode("z")[0];
      if (row == 1)
        std::for_each(first, last, [&](std::int64_t& id) {
          if (id >= letter_a && id <= letter_z) id -= 32;
        });
      if (row == 2) *last = letter_z;
      if (row == 3) *(first + 1) = letter_z;
    }
    judge.Add(batch, said, right);
  }
  return judge.Outcomes(subjects);
}

TEST(Judge, RowsOfAFileHaveUmbrellasFiguresBesideTheExactScore) {
  for (const std::int64_t piece : {4, 2, 1}) {
    medley::Outcomes outcomes = Judged(piece, {"a", "b", "a", "b"});
    EXPECT_EQ(Text(outcomes.score), "1 0 0 0") << piece;
    EXPECT_EQ(Text(outcomes.Share("contains the answer")), "1 1 1 0") << piece;
    EXPECT_EQ(Text(outcomes.Share("majority by subject")), "1 0 - -") << piece;
  }
}

TEST(Judge, RowsThatAreMadeUpHaveTheExactScoreAlone) {
  const medley::Outcomes outcomes = Judged(2, {});
  EXPECT_EQ(outcomes.figures.count("contains the answer") + outcomes.figures.count("majority by subject"),
            0U);
}

}  // namespace
}  // namespace medley_volumes
