#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/batch.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/task.h>
#include <medley/text/tokenizer.h>

namespace medley_volumes {

// As UMBRELLA scores a reply: in small letters and without dots, the right answer stands somewhere in it. So
// "female" contains "male".
bool ContainsAnswer(std::string_view reply, std::string_view answer);

// Of each subject one verdict, 1 where more than half of its rows are right and 0 elsewhere, at its first
// row; NaN, which does not count, at its others.
std::vector<double> MajorityBySubject(const std::vector<double>& right,
                                      const std::vector<std::string>& subjects);

// Scores the last answers of an evaluation's rows, piece by piece.
class Judge {
 public:
  explicit Judge(const medley::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // `said` and `right`: the tokens of all rows' last answers behind one another.
  void Add(const medley::Batch& batch, const std::vector<std::int64_t>& said,
           const std::vector<std::int64_t>& right);
  // `subjects`: whose conversation each row is, with which UMBRELLA's figures stand beside the score; none of
  // rows that are made up.
  medley::Outcomes Outcomes(const std::vector<std::string>& subjects);

 private:
  // The score of these rows alone.
  void AddToFigure(const std::string& name, const std::vector<std::size_t>& rows);
  void AddQuestions();
  void AddScanCounts();
  std::string QuestionOf(const medley::Batch& batch, std::int64_t row) const;
  // What stands before the <eos>.
  std::string WordsOf(const std::vector<std::int64_t>& ids) const;

  const medley::Tokenizer& tokenizer_;
  medley::Outcomes outcomes_;
  medley::Sheet sheet_;
  std::vector<double> one_scan_;
  std::vector<double> contains_;                                                  // by row, 1 or 0
  std::map<std::string, std::map<std::string, std::vector<std::size_t>>> asked_;  // question: answer: rows
  std::map<std::int64_t, std::vector<std::size_t>> shown_;                        // scans: rows
};

}  // namespace medley_volumes
