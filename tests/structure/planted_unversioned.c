/* What symbols.py must catch: a function of the API that carries no version. */
extern const char* pc_version(void);
const char* pc_version(void) {
  return "";
}
