// SPDX-License-Identifier: Apache-2.0
//
// The program into which two object files with every header of the library are linked. Linking is a test, and README's
// program, which both begin with, is another.

#ifdef HAVE_README_PROGRAM
int ReadmeMain(int argc, char** argv);

int main(int argc, char** argv) { return ReadmeMain(argc, argv); }
#else
int main() { return 0; }
#endif
