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

constexpr std::array kVariables = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
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

}  // namespace
}  // namespace medley
