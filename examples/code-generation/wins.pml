<prompt schema="code-generation">
  <user><database/>What does the method wins return?</user>
</prompt>
