#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include <medley/base/json_count.h>

namespace medley {

// What steps and predictions cost, in row-forwards: a row that is looked at has one, a trained row three, for
// its backward costs two. Never in seconds, on which no weight may depend.
class ForwardAccount {
 public:
  static constexpr std::int64_t kTrainedRow = 3;

  // `allowance`: the part of all row-forwards that predictions may cost beyond what they earned.
  explicit ForwardAccount(double allowance) : allowance_(allowance) {}

  void Trained(std::int64_t rows) { trained_ += kTrainedRow * rows; }
  void Spent(std::int64_t forwards) { spent_ += forwards; }
  void Undone(std::int64_t rows) { spent_ += kTrainedRow * rows; }
  // A jump gained what so many row-forwards of training would have; not more counts than were trained since
  // the mark.
  void Earned(double forwards) {
    earned_ += std::clamp(forwards, 0.0, static_cast<double>(trained_ - marked_));
  }

  std::int64_t trained() const { return trained_; }
  std::int64_t spent() const { return spent_; }
  double earned() const { return earned_; }
  // Whether a prediction of this price may be made now.
  bool Pays(std::int64_t price) const {
    return static_cast<double>(spent_ + price) <=
           allowance_ * static_cast<double>(trained_ + spent_ + price) + earned_;
  }

  void Mark() { marked_ = trained_; }
  std::int64_t SinceMark() const { return trained_ - marked_; }

  nlohmann::json Save() const {
    return {{"trained", trained_}, {"spent", spent_}, {"earned", earned_}, {"marked", marked_}};
  }
  // Throws what JSON and counts throw.
  void Load(const nlohmann::json& state) {
    trained_ = CountOf(state, "trained", 0, INT64_MAX);
    spent_ = CountOf(state, "spent", 0, INT64_MAX);
    marked_ = CountOf(state, "marked", 0, INT64_MAX);
    earned_ = state.at("earned").get<double>();
  }

 private:
  double allowance_;
  std::int64_t trained_ = 0, spent_ = 0, marked_ = 0;
  double earned_ = 0;
};

}  // namespace medley
