#include "data/judge.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include <medley/task/drawings.h>
#include <medley/task/text_rows.h>

namespace medley_volumes {
namespace {

constexpr double kNotCounted = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostQuestionFigures = 8;

// Of the first volume of each row, the slice in its middle; nothing where one has none.
at::Tensor Shown(const medley::Batch& rows) {
  const medley::RaggedColumn& volumes = rows.Ragged("volumes");
  std::vector<std::int64_t> first;
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (volumes.offsets[at] == volumes.offsets[at + 1]) return {};
    first.push_back(volumes.offsets[at]);
  }
  return medley::DrawSlice(volumes.values.index_select(0, medley::IntColumn(first)));
}

// Blanks around it are medley's, whose texts begin with one.
std::string Bare(std::string_view text) {
  std::string bare;
  for (const char letter : text) {
    if (letter != '.') bare += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  const std::size_t begin = bare.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : bare.substr(begin, bare.find_last_not_of(" \t\n") + 1 - begin);
}

}  // namespace

bool ContainsAnswer(std::string_view reply, std::string_view answer) {
  const std::string said = Bare(reply), right = Bare(answer);
  return right.empty() ? said.empty() : said.find(right) != std::string::npos;
}

std::vector<double> MajorityBySubject(const std::vector<double>& right,
                                      const std::vector<std::string>& subjects) {
  std::map<std::string, std::vector<std::size_t>> rows;
  for (std::size_t row = 0; row < subjects.size(); ++row) rows[subjects[row]].push_back(row);
  std::vector<double> verdicts(right.size(), kNotCounted);
  for (const auto& [subject, own] : rows) {
    double sum = 0;
    for (const std::size_t row : own) sum += right[row];
    verdicts[own.front()] = 2 * sum > static_cast<double>(own.size()) ? 1 : 0;
  }
  return verdicts;
}

void Judge::Add(const medley::Batch& batch, const std::vector<std::int64_t>& said,
                const std::vector<std::int64_t>& right) {
  if (medley::Sheet::Shows(outcomes_.score.size())) {
    if (const at::Tensor shown = Shown(batch); shown.defined()) sheet_.Add(shown.to(at::kFloat).div_(255));
  }
  const std::vector<std::int64_t>& offsets = batch.Ragged("answer").offsets;
  const at::Tensor& best = batch.Column("one_scan");
  for (std::int64_t row = 0; row < batch.size(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const auto part = [&](const std::vector<std::int64_t>& ids) {
      return std::vector<std::int64_t>(ids.begin() + offsets[at], ids.begin() + offsets[at + 1]);
    };
    const std::vector<std::int64_t> said_ids = part(said), right_ids = part(right);
    const std::string question = QuestionOf(batch, row), reply = tokenizer_.Decode(said_ids),
                      answer = tokenizer_.Decode(right_ids);
    asked_[question][answer].push_back(outcomes_.score.size());
    const auto scans = [&](std::string_view kind) {
      const std::vector<std::int64_t>& shown = batch.Ragged(kind).offsets;
      return shown[at + 1] - shown[at];
    };
    shown_[scans("volumes") + scans("series")].push_back(outcomes_.score.size());
    sheet_.Add(outcomes_.score.size(),
               {.question = question, .reply = reply, .right = answer, .is_right = reply == answer});
    outcomes_.score.push_back(reply == answer ? 1 : 0);
    one_scan_.push_back(best[row].item<double>());
    contains_.push_back(ContainsAnswer(WordsOf(said_ids), WordsOf(right_ids)) ? 1 : 0);
  }
}

medley::Outcomes Judge::Outcomes(const std::vector<std::string>& subjects) {
  std::vector<double>& frequent = outcomes_.trivial["most frequent answer"];
  frequent.assign(outcomes_.score.size(), 0);
  for (const auto& [question, answers] : asked_) {
    const auto& most = *std::max_element(answers.begin(), answers.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    for (const std::size_t row : most.second) frequent[row] = 1;
  }
  if (asked_.size() > 1 && asked_.size() <= kMostQuestionFigures) AddQuestions();
  if (shown_.size() > 1) AddScanCounts();
  if (!subjects.empty()) {
    outcomes_.Share("contains the answer") = contains_;
    outcomes_.Share("majority by subject") = MajorityBySubject(contains_, subjects);
  }
  const bool known =
      std::all_of(one_scan_.begin(), one_scan_.end(), [](double x) { return std::isfinite(x); });
  if (known) outcomes_.trivial["best of one scan"] = one_scan_;
  sheet_.MoveTo(outcomes_);
  return std::move(outcomes_);
}

void Judge::AddToFigure(const std::string& name, const std::vector<std::size_t>& rows) {
  std::vector<double>& figure = outcomes_.Share(name);
  figure.resize(outcomes_.score.size(), kNotCounted);
  for (const std::size_t row : rows) figure[row] = outcomes_.score[row];
}

void Judge::AddQuestions() {
  for (const auto& [question, answers] : asked_) {
    const std::size_t begin = std::min(question.find_first_not_of(' '), question.size());
    const std::string name = begin < question.size() ? question.substr(begin) : "no words";
    for (const auto& [answer, rows] : answers) AddToFigure(name, rows);
  }
}

void Judge::AddScanCounts() {
  for (const auto& [count, rows] : shown_)
    AddToFigure(std::to_string(count) + (count == 1 ? " scan" : " scans"), rows);
}

std::string Judge::QuestionOf(const medley::Batch& batch, std::int64_t row) const {
  const std::vector<std::int64_t> span = medley::HostValues(batch.Column("questions")[row]);
  return tokenizer_.Decode(medley::HostValues(batch.Column("tokens")[row].slice(0, span[0], span[1])));
}

std::string Judge::WordsOf(const std::vector<std::int64_t>& ids) const {
  return tokenizer_.Decode({ids.begin(), std::find(ids.begin(), ids.end(), tokenizer_.eos())});
}

}  // namespace medley_volumes
