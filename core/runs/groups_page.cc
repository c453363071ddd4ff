#include <medley/runs/groups_page.h>

#include <medley/page/in_script.h>
#include <medley/runs/group_report.h>

namespace medley {
namespace {

constexpr char kPage[] =
#include "groups.inc"
    ;

}  // namespace

std::string GroupsPage(const GroupComparison& comparison) {
  const std::string place = "null/* comparison */";
  std::string page = kPage;
  page.replace(page.find(place), place.size(), InScript(GroupsJson(comparison)));
  return page;
}

}  // namespace medley
