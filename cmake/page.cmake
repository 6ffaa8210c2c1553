# Writes generated/page_template.cpp: the bytes of viewer/dist/page.html, so that the program needs no file beside it.
file(READ ${SOURCE} digits HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${digits}")
file(WRITE ${OUT} "#include \"atlas/page.h\"\nnamespace atlas {\nstatic constexpr unsigned char bytes[] = {${bytes}};\n"
  "std::string_view page_template() { return {reinterpret_cast<const char*>(bytes), sizeof(bytes)}; }\n}\n")
