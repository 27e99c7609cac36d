<prompt schema="code-generation">
  <user><unit/><player/>Which methods does the class Player have?</user>
</prompt>
