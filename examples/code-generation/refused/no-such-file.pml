<prompt schema="code-generation">
  <user><unit/><maps/>Add a hill.</user>
</prompt>
