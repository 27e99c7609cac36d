<prompt schema="city-guide">
  <user><traveller name="Anna"/><winter/><oslo/><lisbon/>What is the traveller called?</user>
</prompt>
