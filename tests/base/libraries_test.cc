#include <medley/base/libraries.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace medley {
namespace {

constexpr std::array kVariables = {"OMP_WAIT_POLICY",    "GOMP_SPINCOUNT",      "KMP_BLOCKTIME",
                                   "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA"};
using Variables = std::map<std::string, std::string>;

class Libraries : public ::testing::Test {
 protected:
  Libraries() : before_(Now()) {}
  ~Libraries() override { Set(before_); }

  static Variables Now() {
    Variables now;
    for (const char* name : kVariables) {
      if (const char* value = std::getenv(name)) now[name] = value;
    }
    return now;
  }
  static void Set(const Variables& variables) {
    for (const char* name : kVariables) ::unsetenv(name);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  static Variables Prepared(const Variables& variables) {
    Set(variables);
    PrepareLibraries();
    return Now();
  }

 private:
  Variables before_;
};

TEST_F(Libraries, LetThreadsThatWaitSleep) {
  const Variables passive = {{"OMP_WAIT_POLICY", "passive"}};
  EXPECT_EQ(Prepared({}), passive);
  EXPECT_EQ(Prepared({{"OMP_WAIT_POLICY", ""}}), passive) << "set to nothing is not set";
  EXPECT_FALSE(WaitingThreadsSpin());
}

TEST_F(Libraries, KeepWhatTheUserSet) {
  for (const Variables& own : std::vector<Variables>{{{"OMP_WAIT_POLICY", "active"}},
                                                     {{"OMP_WAIT_POLICY", "PASSIVE"}},
                                                     {{"GOMP_SPINCOUNT", "1000"}},
                                                     {{"KMP_BLOCKTIME", "200"}}})
    EXPECT_EQ(Prepared(own), own);
}

TEST_F(Libraries, KnowWhetherThreadsSpin) {
  for (const auto& [variables, spin] : std::vector<std::pair<Variables, bool>>{
           {{}, true},
           {{{"OMP_WAIT_POLICY", "active"}}, true},
           {{{"OMP_WAIT_POLICY", "PASSIVE"}}, false},
           {{{"OMP_WAIT_POLICY", "passive"}, {"GOMP_SPINCOUNT", "1000"}}, true},  // that has the last word
           {{{"GOMP_SPINCOUNT", "0"}}, false},
           {{{"KMP_BLOCKTIME", "0"}}, false}}) {
    Set(variables);
    EXPECT_EQ(WaitingThreadsSpin(), spin) << ::testing::PrintToString(variables);
  }
}

// Attention of half types throws where oneDNN may use AMX and ATen not even AVX-512.
TEST_F(Libraries, KeepOneDnnFromAmxWhereAtenIsKeptFromAvx512) {
  const std::string aten = "ATEN_CPU_CAPABILITY", onednn = "ONEDNN_MAX_CPU_ISA";
  const auto matched = [&](const Variables& variables, bool has_amx) {
    Set(variables);
    MatchKernels(has_amx);
    const Variables now = Now();
    const auto found = now.find(onednn);
    return found == now.end() ? "" : found->second;
  };
  for (const char* less : {"avx2", "default"}) {
    EXPECT_EQ(matched({{aten, less}}, true), "AVX512_CORE_BF16") << less;
    EXPECT_EQ(matched({{aten, less}, {onednn, "AVX512_CORE_AMX"}}, true), "AVX512_CORE_BF16") << less;
    EXPECT_EQ(matched({{aten, less}, {onednn, "AVX2"}}, true), "AVX2") << less;
    EXPECT_EQ(matched({{aten, less}}, false), "") << "there is no AMX";
  }
  EXPECT_EQ(matched({}, true), "");
  EXPECT_EQ(matched({{aten, "avx512"}}, true), "");
}

}  // namespace
}  // namespace medley
