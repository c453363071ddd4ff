#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <medley/model/model.h>
#include <medley/weights/pretrained_files.h>

namespace medley {

// The weights of a Hugging Face folder: those of a Language in one file or in shards, and beside them what
// medley wrote of the model's other parts (kImageWeightsFile). They are mapped, and converted while they are
// copied.
class PretrainedWeights {
 public:
  struct Setting {
    std::filesystem::path directory;
    std::string root;                          // of the spec's pretrained group
    std::int64_t rows = 0;                     // of the folder's tables; the model's may have more
    std::vector<std::string> allow_missing{};  // patterns of parameters that may be missing
    // Patterns of the folder's tensors (by their names there, or with "model." in front) that the model has
    // no parameter for, and that are left aside.
    std::vector<std::string> allow_unexpected{};
  };
  // Reads headers, and of an output table that the model ties to the embedding the values. The parameters may
  // be on "meta". Throws one InputError with every tensor that is missing, unexpected or does not fit.
  PretrainedWeights(Setting setting, const std::vector<Parameter>& parameters);

  // Parameters that Fill gives all their values.
  const std::set<std::string>& given() const { return given_; }

  // Ids below `count` are tokens. The folder does not know those in `added`, nor those behind its rows.
  struct Tokens {
    std::int64_t count = 0;
    std::vector<std::int64_t> added{};
  };
  // Gives each parameter memory of its own, in its type. Rows of tokens that the folder does not know begin
  // as the mean of those that it knows.
  using TypeOf = std::function<at::ScalarType(const Parameter&)>;
  void Fill(
      const std::vector<Parameter>& parameters, const Tokens& tokens,
      const TypeOf& type = [](const Parameter&) { return at::kFloat; }) const;
  // What was taken from where, what begins anew, and what was left aside.
  std::string Words() const;

 private:
  using Problems = std::vector<std::string>;

  void Take(const std::vector<Parameter>& parameters, Problems& problems);
  void Compare(const Parameter& parameter, const std::string& name, Problems& problems);
  void CheckRest(Problems& problems);
  std::string HeadProblem() const;
  void FillNewRows(const at::Tensor& table, const Tokens& tokens) const;

  Setting setting_;
  PretrainedFiles files_;
  std::map<std::string, std::string> sources_;  // names in the files, by parameter
  std::set<std::string> given_, fresh_, used_, aside_;
};

}  // namespace medley
