// expect: FormId
//
// Compiles as it stands; with one of the names defined, a form is taken for a task or a task for a form.
#include <map>
#include <string>

#include <medley/curriculum/form_id.h>

namespace medley {

void OfForm(const FormId& form);
void OfTask(const std::string& task);

bool Use(const std::string& task, const FormId& form) {
  std::map<FormId, int> by_form{{form, 1}};
  std::string name;
#if defined(TASK_AS_FORM)
  OfForm(task);
#elif defined(LITERAL_AS_FORM)
  OfForm("one");
#elif defined(FORM_AS_TASK)
  OfTask(form);
#elif defined(FORM_ASSIGNED)
  name = form;
#elif defined(TASK_AS_KEY)
  by_form.count(task);
#elif defined(TASK_COMPARED)
  return form == task;
#else
  OfForm(form), OfTask(task), name = task, by_form.count(form);
#endif
  return form == form;
}

}  // namespace medley
