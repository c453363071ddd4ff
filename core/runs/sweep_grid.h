#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace medley {

// A key of a run config, and the values that a sweep gives it, each as an override says it: "1e-3", "auto",
// "[1, 2]".
struct SweptKey {
  std::string key;
  std::vector<std::string> values;
};

// What KEY=V1,V2 ... of a command line ask for.
struct SweepArguments {
  std::vector<SweptKey> keys;       // those with two values or more, in their order
  std::vector<std::string> fixed;   // overrides "KEY=VALUE" of every run
  std::vector<std::int64_t> seeds;  // of "seed=1,5"; none: it was not given
};
// Values are parted by commas. What stands in quotes, brackets or braces is held together, and quotes around
// a value go, as a shell's do. One InputError with all that is wrong: no value, one that is there twice, a
// key that is there twice, a seed that is none.
SweepArguments ParseSweep(const std::vector<std::string>& arguments);

// Whether two overrides give one value: 1e-3 is 0.001.
bool IsSameValue(const std::string& a, const std::string& b);

// Runs that differ in nothing but their seeds.
struct SweepGroup {
  std::vector<std::string> values;  // of the keys, in their order
  std::string folder;               // below the sweep's; "": that itself, as nothing but seeds differs
};
// The grid of all values, the last key's changing fastest. A folder says what differs,
// "learning_rate=0.001,rows=8": a key by its last part where that is no other key's, and without what a shell
// or a path minds. A name that is long, or another's, ends in a digest. Groups that `known` has keep theirs.
std::vector<SweepGroup> GroupsOf(const std::vector<SweptKey>& keys,
                                 const std::vector<SweepGroup>& known = {});
// "optimizer.learning_rate=0.001" for each of the keys.
std::vector<std::string> OverridesOf(const SweepGroup& group, const std::vector<SweptKey>& keys);
// The folder of a run in that of its group: "seed-1".
std::string SeedFolder(std::int64_t seed);

}  // namespace medley
